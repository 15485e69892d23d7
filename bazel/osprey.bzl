"""The rules that Osprey's own packages use."""

load("//bazel:cuda_library.bzl", "cuda_library")

def _link_only_impl(ctx):
    return [CcInfo(linking_context = ctx.attr.dep[CcInfo].linking_context)]

# The objects of `dep` without its headers, and so without CUDA's folder of them on the command line of whoever
# uses an op: C++ compiles once for the builds with and without CUDA.
_link_only = rule(
    implementation = _link_only_impl,
    attrs = {"dep": attr.label(providers = [CcInfo])},
)

def osprey_library(
        name,
        cuda_srcs = [],
        cuda_copts = [],
        cuda_deps = [],
        visibility = ["//visibility:public"],
        **kwargs):
    """A cc_library whose objects always reach the binary: types register themselves, and plugins call core.

    `cuda_srcs` are the CUDA side of the same idea, kernels (.cu) and library calls (.cc). They form NAME_cuda,
    linked in with --config=cuda and --config=cuda_emulated.
    """
    if not cuda_srcs:
        native.cc_library(name = name, alwayslink = True, visibility = visibility, **kwargs)
        return
    native.cc_library(name = name + "_cpu", alwayslink = True, visibility = visibility, **kwargs)
    cuda_library(
        name = name + "_cuda",
        srcs = cuda_srcs,
        copts = cuda_copts,
        deps = [":" + name + "_cpu", "//core/backend/cuda"] + cuda_deps,
        visibility = visibility,
    )
    _link_only(
        name = name + "_cuda_objects_only",
        dep = ":" + name + "_cuda",
        tags = ["manual"],
    )
    native.cc_library(
        name = name,
        deps = [":" + name + "_cpu"] + select({
            "//bazel:cuda": [":" + name + "_cuda_objects_only"],
            "//bazel:cuda_emulated": [":" + name + "_cuda_objects_only"],
            "//conditions:default": [],
        }),
        visibility = visibility,
    )

def osprey_test(name, deps = [], size = "small", **kwargs):
    """A GoogleTest binary; one per folder or idea, so that linking stays cheap."""
    native.cc_test(
        name = name,
        size = size,
        deps = deps + ["//tests:test_main", "//third_party:gtest"],
        linkopts = ["-rdynamic"],
        **kwargs
    )
