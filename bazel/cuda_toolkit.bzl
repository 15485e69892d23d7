"""@cuda_toolkit: the CUDA toolkit of this machine, or an empty stand-in, so that //... builds everywhere."""

_PLACES = ["/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"]

_BUILD = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(["include/*.h", "include/*.hpp", "include/crt/**"], allow_empty = True),
    includes = ["include"],
)

cc_library(
    name = "libraries",
    linkopts = {linkopts},
    deps = [":headers"],
)
"""

def _cuda_toolkit_impl(ctx):
    places = [ctx.os.environ["CUDA_HOME"]] if "CUDA_HOME" in ctx.os.environ else _PLACES
    root = ""
    for place in places:
        if ctx.path(place + "/bin/nvcc").exists:
            root = place
            break
    linkopts = []
    if root:
        ctx.symlink(root + "/include", "include")
        linkopts = [
            "-L" + root + "/lib64",
            "-Wl,-rpath," + root + "/lib64",
            "-lcudart",
            "-lcublas",
            "-lcudnn",
        ]
    ctx.file("BUILD", _BUILD.format(linkopts = linkopts))
    ctx.file("toolkit.bzl", "CUDA_HOME = \"%s\"\n" % root)

cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    environ = ["CUDA_HOME"],
    local = True,
)
