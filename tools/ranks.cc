#include "tools/ranks.h"

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <set>

#include "core/base/logging.h"
#include "core/parallel/mpi_communicator.h"

namespace osprey {
namespace {

bool any_set(std::initializer_list<const char*> variables) {
  return std::any_of(variables.begin(), variables.end(),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

void require_mpirun(const std::string& command) {
  // Open MPI's mpirun; and PMIx and PMI for other starters.
  if (any_set({"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"})) return;
  throw UserError("--launcher mpi: mpirun has not started this process; e.g. mpirun -np 2 --bind-to none " +
                  command + " --config CONFIG --launcher mpi");
}

// Several processes that do not know of each other would write into one work dir.
void require_no_mpirun() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size != nullptr && std::atoi(size) > 1)
    throw UserError(str_cat("mpirun started ", size, " processes: add --launcher mpi"));
}

void require_srun(const std::string& command) {
  if (std::getenv("SLURM_PROCID") && std::getenv("SLURM_NTASKS") && std::getenv("SLURM_LOCALID")) return;
  throw UserError("--launcher slurm: srun has not started this process (SLURM_PROCID, SLURM_NTASKS and " +
                  std::string("SLURM_LOCALID are not set); e.g. srun --mpi=pmix -n 2 --kill-on-bad-exit ") +
                  command + " --config CONFIG --launcher slurm");
}

// Without its MPI plugin srun starts processes that do not know of each other.
void check_slurm_size() {
  const int tasks = std::atoi(std::getenv("SLURM_NTASKS"));
  if (world().size() == tasks) return;
  throw UserError(str_cat("--launcher slurm: srun started ", tasks, " tasks, but MPI sees ", world().size(),
                          " of them; start with srun --mpi=pmix (srun --mpi=list shows what there is)"));
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

// The cores that this rank may use for itself: its share of those that all ranks of the machine may use, or
// its own where the launcher has bound each rank to some.
int own_cores() {
  const std::vector<int> cores = allowed_cores();
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const std::string mine = str_cat(host, ":", join(cores));
  std::set<std::string> masks, neighbours;
  for (const std::string& mask : world().all_gather(mine)) {
    masks.insert(mask);
    if (starts_with(mask, std::string(host) + ":")) neighbours.insert(mask);
  }
  const int count = std::max<int>(1, static_cast<int>(cores.size()));
  if (neighbours.size() == 1) return std::max(1, count / world().local_size());
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (count * world().local_size() < online) {
    log_warning(str_cat("the launcher binds this rank to ", count, " of ", online,
                        " cores; mpirun --bind-to none gives each its share"));
  }
  return count;
}

void share_cores() {
  const int cores = own_cores();
  // Ranks whose sums are cut up alike round alike.
  const int threads = static_cast<int>(world().min(cores));
  if (!std::getenv("OMP_NUM_THREADS")) omp_set_num_threads(threads);
}

}  // namespace

void add_rank_flags(CLI::App& app, RankFlags& flags) {
  app.add_option("--launcher", flags.launcher, "none | mpi (under mpirun) | slurm (under srun)")
      ->capture_default_str();
  app.add_option("--local_rank,--local-rank", flags.local_rank, "set by mmdetection's launchers; ignored");
}

void join_ranks(const RankFlags& flags, const std::string& command) {
  if (flags.launcher == "none") {
    require_no_mpirun();
    return;
  }
  if (flags.launcher == "pytorch") {
    throw UserError(
        "--launcher pytorch: there is no PyTorch here; several processes are started by mpirun "
        "(--launcher mpi) or srun (--launcher slurm)");
  }
  if (flags.launcher == "mpi") {
    require_mpirun(command);
  } else if (flags.launcher == "slurm") {
    require_srun(command);
  } else {
    throw UserError("--launcher " + flags.launcher + ": allowed are none, pytorch, slurm, mpi");
  }
  join_mpi_world();
  log_as_rank(world().rank());
  if (flags.launcher == "slurm") check_slurm_size();
  share_cores();
}

}  // namespace osprey
