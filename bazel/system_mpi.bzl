"""@system_mpi: Open MPI's headers, where Debian and its kin put them."""

_PLACES = ["/usr/lib/x86_64-linux-gnu/openmpi", "/usr/lib/aarch64-linux-gnu/openmpi", "/usr/lib/openmpi"]

_BUILD = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "mpi",
    hdrs = glob(["include/*.h"]),
    includes = ["include"],
    defines = ["OMPI_SKIP_MPICXX"],  # the C++ calls of MPI 2 are another library
    linkopts = ["-L{home}/lib", "-lmpi"],
)
"""

def _system_mpi_impl(ctx):
    for place in _PLACES:
        if ctx.path(place + "/include/mpi.h").exists:
            ctx.symlink(place + "/include", "include")
            ctx.file("BUILD", _BUILD.format(home = place))
            return
    fail("no Open MPI with its header in %s: tools/setup installs it (package libopenmpi-dev)" % " or ".join(_PLACES))

system_mpi = repository_rule(
    implementation = _system_mpi_impl,
    local = True,
)
