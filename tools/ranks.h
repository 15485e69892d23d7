#pragma once

#include <string>

namespace CLI {
class App;
}

namespace osprey {

// --launcher and what mmdetection's launchers add to the command line.
struct RankFlags {
  std::string launcher = "none";  // none | mpi | slurm
  int local_rank = 0;             // as torch.distributed passes it on; not used
};
void add_rank_flags(CLI::App& app, RankFlags& flags);

// Joins the processes that mpirun (mpi) or srun (slurm) started: world() is all of them from here on, each
// computes with its share of the machine's cores, and rank 0 alone logs what is no error. `command` is the
// tool as the user types it, for messages. Nothing happens with "none". Throws UserError for a launcher that
// is unknown, or that has not started this process.
void join_ranks(const RankFlags& flags, const std::string& command);

}  // namespace osprey
