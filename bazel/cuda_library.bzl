"""cuda_library: .cu files compiled by nvcc into objects that link like a cc_library."""

load("@cuda_toolkit//:toolkit.bzl", "CUDA_HOME")

# Ampere and Hopper as machine code, and PTX of the latter for what comes after.
_ARCHITECTURES = [
    "-gencode=arch=compute_80,code=sm_80",
    "-gencode=arch=compute_90,code=[sm_90,compute_90]",
]

_FLAGS = [
    "-std=c++20",
    "-O3",
    "--expt-relaxed-constexpr",
    "--extended-lambda",
    "-Werror=all-warnings",
    "-Xcompiler=-fPIC,-Wall,-Wextra,-ffp-contract=off",
]

def _nvcc_objects_impl(ctx):
    if not CUDA_HOME:
        fail("no CUDA toolkit found: install one, or set CUDA_HOME to its folder")
    headers = depset(transitive = [dep[CcInfo].compilation_context.headers for dep in ctx.attr.deps])
    objects = []
    for source in ctx.files.srcs:
        output = ctx.actions.declare_file(source.basename + ".o")
        ctx.actions.run(
            executable = CUDA_HOME + "/bin/nvcc",
            arguments = _FLAGS + _ARCHITECTURES + ctx.attr.copts + ["-I.", "-c", source.path, "-o", output.path],
            inputs = depset([source] + ctx.files.hdrs, transitive = [headers]),
            outputs = [output],
            mnemonic = "Nvcc",
            progress_message = "Compiling " + source.short_path,
            use_default_shell_env = True,
        )
        objects.append(output)
    return [DefaultInfo(files = depset(objects))]

_nvcc_objects = rule(
    implementation = _nvcc_objects_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"]),
        "hdrs": attr.label_list(allow_files = True),
        "deps": attr.label_list(providers = [CcInfo]),
        "copts": attr.string_list(),
    },
)

def cuda_library(name, srcs, hdrs = [], deps = [], copts = [], tags = [], **kwargs):
    """Compiles `srcs` with nvcc. Tagged manual: //... stays buildable without a toolkit.

    Neither the sources nor any header they see may include spdlog or fmt: nvcc cannot compile fmt 9 in C++20.
    """
    _nvcc_objects(
        name = name + "_objects",
        srcs = srcs,
        hdrs = hdrs,
        deps = deps,
        copts = copts,
        tags = tags + ["manual"],
    )
    native.cc_library(
        name = name,
        srcs = [name + "_objects"],
        deps = deps + ["@cuda_toolkit//:libraries"],
        alwayslink = True,
        tags = tags + ["manual"],
        **kwargs
    )
