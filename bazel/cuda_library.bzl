"""cuda_library: .cu files compiled by nvcc into objects that link like a cc_library."""

load("@cuda_toolkit//:toolkit.bzl", "CUDA_HOME", "PROBLEM")

# Ampere and Hopper; --define=cuda_archs=sm_86,sm_120 (OSPREY_CUDA_ARCHS of the launchers) chooses others.
_ARCHITECTURES = "sm_80,sm_90"

def _gencode(architectures):
    """nvcc's flags for machine code of each of "sm_80,sm_90", and PTX of the last for what comes after."""
    numbers = []
    for name in architectures.split(","):
        number = name.strip()[3:]
        if not name.strip().startswith("sm_") or not number.isdigit() or int(number) < 80:
            fail("cuda_archs=%s: '%s' is no architecture; allowed: sm_80 (Ampere) and newer, e.g. sm_80,sm_90" %
                 (architectures, name))
        numbers.append(int(number))
    numbers = sorted({number: True for number in numbers}.keys())
    flags = ["-gencode=arch=compute_%d,code=sm_%d" % (number, number) for number in numbers[:-1]]
    return flags + ["-gencode=arch=compute_%d,code=[sm_%d,compute_%d]" % (numbers[-1], numbers[-1], numbers[-1])]

_FLAGS = [
    "-std=c++20",
    "-O3",
    "--expt-relaxed-constexpr",
    "--extended-lambda",
    "-Werror=all-warnings",
    "-Xcompiler=-fPIC,-Wall,-Wextra,-ffp-contract=off",
]

def _nvcc_objects_impl(ctx):
    if PROBLEM:
        fail(PROBLEM)
    architectures = _gencode(ctx.var.get("cuda_archs", _ARCHITECTURES))
    headers = depset(transitive = [dep[CcInfo].compilation_context.headers for dep in ctx.attr.deps])
    objects = []
    for source in ctx.files.srcs:
        output = ctx.actions.declare_file(source.basename + ".o")
        ctx.actions.run(
            executable = CUDA_HOME + "/bin/nvcc",
            arguments = _FLAGS + architectures + ctx.attr.copts + ["-I.", "-c", source.path, "-o", output.path],
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

def cuda_library(name, srcs, hdrs = [], deps = [], copts = [], tags = [], visibility = None):
    """CUDA code: kernels (.cu) compiled by nvcc, library calls (.cc) by the C++ compiler.

    With --config=cuda_emulated the C++ compiler takes the kernels, too, and their launches run on the host (see
    core/backend/cuda/launch.cuh): for what needs barriers or shuffles give cuda_library a label of its own
    and select a plain implementation beside it. `copts` are nvcc's. Tagged manual: //... stays buildable without
    a toolkit. Neither a kernel's source nor any header it sees may include spdlog or fmt: nvcc cannot compile
    fmt 9 in C++20.
    """
    manual = tags + ["manual"]
    kernels = [source for source in srcs if source.endswith(".cu")]
    calls = [source for source in srcs if not source.endswith(".cu")]
    objects = []
    if kernels:
        objects = [name + "_objects"]
        _nvcc_objects(
            name = name + "_objects",
            srcs = kernels,
            hdrs = hdrs,
            deps = deps,
            copts = copts,
            tags = manual,
        )
    native.cc_library(
        name = name + "_device",
        srcs = calls + objects,
        hdrs = hdrs,
        deps = deps + ["@cuda_toolkit//:libraries"],
        alwayslink = True,
        tags = manual,
    )
    native.cc_library(
        name = name + "_emulated",
        srcs = srcs,
        hdrs = hdrs,
        copts = ["-x", "c++"],
        deps = deps + ["@cuda_toolkit//:headers"],
        alwayslink = True,
        tags = manual,
    )
    native.alias(
        name = name,
        actual = select({
            "//bazel:cuda_emulated": name + "_emulated",
            "//conditions:default": name + "_device",
        }),
        tags = manual,
        visibility = visibility,
    )
