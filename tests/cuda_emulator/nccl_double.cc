#include <mpi.h>
#include <nccl.h>

#include <cstring>
#include <random>
#include <vector>

#include "core/base/strings.h"
#include "tests/cuda_emulator/arena.h"
#include "tests/cuda_emulator/emulator.h"
#include "tests/cuda_emulator/fail.h"
#include "tests/cuda_emulator/handles.h"
#include "tests/cuda_emulator/streams.h"

// The calls of NCCL that Osprey makes, between processes that MPI connects. As everything else on a stream
// they happen when somebody waits for it.
namespace osprey::emulator {
namespace {

struct Clique {
  int device, ranks, rank;
  MPI_Comm link;
};

Handles<Clique>& cliques() {
  static auto& cliques = *new Handles<Clique>;
  return cliques;
}

struct Kind {
  size_t bytes;
  MPI_Datatype type;
};

bool kind_of(ncclDataType_t type, Kind& kind) {
  switch (type) {
    case ncclFloat32:
      kind = {4, MPI_FLOAT};
      return true;
    case ncclInt32:
      kind = {4, MPI_INT32_T};
      return true;
    case ncclInt64:
      kind = {8, MPI_INT64_T};
      return true;
    case ncclUint8:
      kind = {1, MPI_UINT8_T};
      return true;
    default:
      return false;
  }
}

// What the members of a clique bring along when it is made.
struct Member {
  char id[NCCL_UNIQUE_ID_BYTES];
  char bus_id[32];
  int rank;
};

// All bring the same id, each a rank and a device of its own.
ncclResult_t check_members(const std::vector<Member>& members) {
  std::set<int> ranks;
  std::set<std::string> devices;
  for (const Member& member : members) {
    if (std::memcmp(member.id, members[0].id, sizeof member.id) != 0)
      fail("ncclCommInitRank: the ranks bring different ids");
    if (!ranks.insert(member.rank).second) fail(str_cat("ncclCommInitRank: rank ", member.rank, " twice"));
    if (!devices.insert(member.bus_id).second) return ncclInvalidUsage;  // "Duplicate GPU detected"
  }
  return ncclSuccess;
}

// What every collective demands of communicator and stream.
Stream& checked_stream(const Clique& clique, cudaStream_t handle, const char* call) {
  if (clique.device != current_device()) {
    fail(str_cat(call, ": a communicator of device ", clique.device, " while device ", current_device(),
                 " is the thread's current one"));
  }
  Stream& stream = stream_of(handle, call);
  if (stream.device != clique.device)
    fail(str_cat(call, ": a stream of device ", stream.device, " for a communicator of device ",
                 clique.device));
  return stream;
}

// A call whose ranks disagree hangs or corrupts a GPU's memory; here they compare first.
void require_agreement(const Clique& clique, const char* call, uint64_t count, int type, int extra) {
  const uint64_t own[3] = {count, static_cast<uint64_t>(type), static_cast<uint64_t>(extra)};
  std::vector<uint64_t> all(3 * static_cast<size_t>(clique.ranks));
  MPI_Allgather(own, 3, MPI_UINT64_T, all.data(), 3, MPI_UINT64_T, clique.link);
  for (int rank = 0; rank < clique.ranks; ++rank) {
    if (std::memcmp(all.data() + 3 * rank, own, sizeof own) != 0)
      fail(str_cat(call, ": count, type or root of rank ", clique.rank, " are not those of rank ", rank));
  }
}

}  // namespace
}  // namespace osprey::emulator

using namespace osprey::emulator;
using osprey::str_cat;

#define LOCK const std::lock_guard lock(driver_mutex())

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (id == nullptr) return ncclInvalidArgument;
  std::random_device random;
  for (char& byte : id->internal) byte = static_cast<char>(random());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  LOCK;
  int world = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  if (comm == nullptr || ranks < 1 || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  if (ranks != world)
    fail(str_cat("ncclCommInitRank: the double joins all ", world, " processes, not ", ranks));
  Clique clique{current_device(), ranks, rank, MPI_COMM_NULL};
  MPI_Comm_dup(MPI_COMM_WORLD, &clique.link);
  Member own{};
  std::memcpy(own.id, id.internal, sizeof own.id);
  cudaDeviceGetPCIBusId(own.bus_id, sizeof own.bus_id, clique.device);
  own.rank = rank;
  std::vector<Member> members(static_cast<size_t>(ranks));
  MPI_Allgather(&own, sizeof own, MPI_BYTE, members.data(), sizeof own, MPI_BYTE, clique.link);
  const ncclResult_t status = check_members(members);
  if (status != ncclSuccess) return status;
  *comm = reinterpret_cast<ncclComm_t>(cliques().make(clique));
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  LOCK;
  Clique* clique = cliques().find(comm);
  if (clique == nullptr) return ncclInvalidArgument;
  MPI_Comm_free(&clique->link);
  cliques().destroy(comm);
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t status) {
  switch (status) {
    case ncclSuccess:
      return "no error";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    default:
      return "a status the double does not name";
  }
}

ncclResult_t ncclAllReduce(const void* source, void* target, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t handle) {
  LOCK;
  const Clique* clique = cliques().find(comm);
  Kind kind{};
  if (clique == nullptr || !kind_of(type, kind) || op != ncclSum) return ncclInvalidArgument;
  Stream& stream = checked_stream(*clique, handle, "ncclAllReduce");
  require_device_memory(source, count * kind.bytes, stream, "ncclAllReduce", "sendbuff");
  require_device_memory(target, count * kind.bytes, stream, "ncclAllReduce", "recvbuff");
  ++counts().launches;
  enqueue(stream, "ncclAllReduce", [source, target, count, type, kind, clique = *clique] {
    require_agreement(clique, "ncclAllReduce", count, type, 0);
    std::vector<char> sum(count * kind.bytes);
    std::memcpy(sum.data(), source, sum.size());
    MPI_Allreduce(MPI_IN_PLACE, sum.data(), static_cast<int>(count), kind.type, MPI_SUM, clique.link);
    std::memcpy(target, sum.data(), sum.size());
  });
  return ncclSuccess;
}

ncclResult_t ncclBroadcast(const void* source, void* target, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t handle) {
  LOCK;
  const Clique* clique = cliques().find(comm);
  Kind kind{};
  if (clique == nullptr || !kind_of(type, kind) || root < 0 || root >= clique->ranks)
    return ncclInvalidArgument;
  Stream& stream = checked_stream(*clique, handle, "ncclBroadcast");
  require_device_memory(source, count * kind.bytes, stream, "ncclBroadcast", "sendbuff");
  require_device_memory(target, count * kind.bytes, stream, "ncclBroadcast", "recvbuff");
  ++counts().launches;
  enqueue(stream, "ncclBroadcast", [source, target, count, type, kind, root, clique = *clique] {
    require_agreement(clique, "ncclBroadcast", count, type, root);
    std::vector<char> bytes(count * kind.bytes);
    if (clique.rank == root) std::memcpy(bytes.data(), source, bytes.size());
    MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, root, clique.link);
    std::memcpy(target, bytes.data(), bytes.size());
  });
  return ncclSuccess;
}
