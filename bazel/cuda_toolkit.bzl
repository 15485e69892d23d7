"""@cuda_toolkit: the CUDA toolkit of this machine, or an empty stand-in, so that //... builds everywhere."""

_PLACES = ["/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"]

# Where cuDNN may be beside the toolkit's own folder: distributions put it among their libraries.
_LIBRARY_FOLDERS = ["lib64", "lib", "targets/x86_64-linux/lib", "lib/x86_64-linux-gnu"]

_BUILD = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(
        ["include/*.h", "include/*.hpp", "include/crt/**", "cudnn_include/cudnn*.h"],
        allow_empty = True,
    ),
    includes = {includes},
)

cc_library(
    name = "libraries",
    linkopts = {linkopts},
    deps = [":headers"],
)

# Beside the others: it is large, and only training in several processes calls it.
cc_library(
    name = "nccl",
    linkopts = {nccl_linkopts},
    deps = [":libraries"],
)
"""

def _library_folder(ctx, root, library):
    for folder in _LIBRARY_FOLDERS:
        path = root + "/" + folder
        if ctx.path(path + "/lib" + library + ".so").exists:
            return path
    return ""

def _find_toolkit(ctx):
    places = [ctx.os.environ["CUDA_HOME"]] if "CUDA_HOME" in ctx.os.environ else _PLACES
    for place in places:
        if ctx.path(place + "/bin/nvcc").exists:
            return place
    return ""

def _find_cudnn(ctx, cuda):
    """The folder with cuDNN's include/ and its libraries, and why there is none."""
    places = [ctx.os.environ["CUDNN_HOME"]] if "CUDNN_HOME" in ctx.os.environ else [cuda, "/usr"]
    for place in places:
        folder = _library_folder(ctx, place, "cudnn")
        if folder and ctx.path(place + "/include/cudnn.h").exists:
            return place, folder, ""
    return "", "", ("no cuDNN with its header in %s: install it, or set CUDNN_HOME to the folder that holds " +
                    "include/cudnn.h and lib/libcudnn.so") % " or ".join(places)

def _cuda_toolkit_impl(ctx):
    root = _find_toolkit(ctx)
    problem = ""
    nccl = False
    includes, linkopts, nccl_linkopts = ["include"], [], []
    if not root:
        problem = "no CUDA toolkit found: install one, or set CUDA_HOME to its folder"
    else:
        cudnn, cudnn_libraries, problem = _find_cudnn(ctx, root)
        ctx.symlink(root + "/include", "include")
        folders = [_library_folder(ctx, root, "cudart") or root + "/lib64"]
        if cudnn_libraries and cudnn_libraries not in folders and cudnn != "/usr":
            folders.append(cudnn_libraries)
            ctx.symlink(cudnn + "/include", "cudnn_include")
            includes.append("cudnn_include")
        for folder in folders:  # found again at run time, wherever the user's library path points
            linkopts += ["-L" + folder, "-Wl,-rpath," + folder]
        linkopts += ["-lcudart", "-lcublas", "-lcudnn"]
        for place in [root, "/usr"]:
            if ctx.path(place + "/include/nccl.h").exists and _library_folder(ctx, place, "nccl"):
                nccl = True
        if nccl:
            nccl_linkopts = ["-lnccl"]
    ctx.file("BUILD", _BUILD.format(includes = includes, linkopts = linkopts, nccl_linkopts = nccl_linkopts))
    ctx.file("toolkit.bzl", "CUDA_HOME = \"%s\"\nPROBLEM = \"%s\"\nHAS_NCCL = %s\n" % (root, problem, nccl))

cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    environ = ["CUDA_HOME", "CUDNN_HOME"],
    local = True,
)
