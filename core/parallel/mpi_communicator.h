#pragma once

#include "core/parallel/communicator.h"

namespace osprey {

// Joins the ranks that mpirun, or srun with its MPI plugin, has started: world() is all of them from here on.
// Host tensors travel by MPI, those of a device by its own collectives (NCCL) where every rank has a device
// of its own, else through host memory. Call once, on the main thread; a program that never calls it does not
// start MPI. Throws Error naming the call when MPI cannot start.
Communicator& join_mpi_world();

}  // namespace osprey
