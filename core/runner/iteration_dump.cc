#include "core/runner/iteration_dump.h"

#include <unistd.h>

#include <filesystem>

#include "core/detection/batch_file.h"
#include "core/io/atomic_file.h"
#include "core/io/file_bytes.h"
#include "core/io/safetensors.h"
#include "core/io/sha256.h"
#include "core/runner/iteration_record.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;

constexpr char kConfig[] = "config.yaml";
constexpr char kBatch[] = "batch.safetensors";
constexpr char kWeights[] = "weights.safetensors";
constexpr char kRecord[] = "iteration.json";

FileStamp stamp_of(const fs::path& path) {
  constexpr uint64_t kPiece = 1 << 22;
  const FileBytes file(path);
  Sha256 hash;
  for (uint64_t at = 0; at < file.size(); at += kPiece) {
    const std::string piece = file.read(at, std::min(kPiece, file.size() - at));
    hash.update(piece.data(), piece.size());
  }
  return {path.filename(), file.size(), hash.hex()};
}

void require_room(const fs::path& folder, uint64_t bytes) {
  constexpr uint64_t kReserve = 64 << 20;  // for the log and the next checkpoint's names
  std::error_code unknown;
  const fs::space_info space = fs::space(folder, unknown);
  if (unknown || space.available >= bytes + kReserve) return;
  throw UserError(str_cat(folder.string(), ": ", space.available >> 20, " MB are free, an iteration needs ",
                          (bytes + kReserve) >> 20));
}

// A folder under a name of its own until commit() renames it; without, nothing of it stays.
class FolderInTheMaking {
 public:
  explicit FolderInTheMaking(fs::path target)
      : target_(std::move(target)), temporary_(target_.parent_path() / str_cat(".tmp.", ::getpid())) {
    std::error_code error;
    fs::remove_all(temporary_, error);
    fs::create_directories(temporary_, error);
    if (error) throw UserError(str_cat(temporary_.string(), ": ", error.message()));
  }
  ~FolderInTheMaking() {
    std::error_code ignored;
    fs::remove_all(temporary_, ignored);
  }
  FolderInTheMaking(const FolderInTheMaking&) = delete;
  FolderInTheMaking& operator=(const FolderInTheMaking&) = delete;

  const fs::path& path() const { return temporary_; }
  void commit() {
    std::error_code error;
    fs::remove_all(target_, error);
    if (!error) fs::rename(temporary_, target_, error);
    if (error) throw UserError(str_cat(target_.string(), ": ", error.message()));
  }

 private:
  fs::path target_, temporary_;
};

void write_weights(const fs::path& path, const StateDict& weights) {
  Safetensors file;
  file.tensors = weights.entries();
  write_safetensors(path, file);
}

void check_stamp(const fs::path& folder, const FileStamp& stamp) {
  const fs::path path = folder / stamp.name;
  if (!fs::exists(path)) throw UserError(path.string() + ": is missing; the folder is not a whole dump");
  const FileStamp found = stamp_of(path);
  if (found.bytes != stamp.bytes) {
    throw UserError(
        str_cat(path.string(), ": is damaged: ", found.bytes, " bytes, written were ", stamp.bytes));
  }
  if (found.sha256 != stamp.sha256)
    throw UserError(path.string() + ": is damaged: its SHA-256 is not the one in " + kRecord);
}

StateDict read_state(const fs::path& path) {
  StateDict state;
  for (auto& [name, tensor] : read_safetensors(path).tensors) state.put(name, std::move(tensor));
  return state;
}

}  // namespace

uint64_t bytes_of(const IterationDump& dump) {
  uint64_t bytes = 0;
  for (const Tensor& tensor : {dump.batch.img, dump.batch.gt_semantic_seg})
    bytes += tensor.defined() ? tensor.bytes() : 0;
  for (const auto& [name, tensor] : dump.weights.entries()) bytes += tensor.bytes();
  return bytes;
}

std::string write_iteration_dump(const std::string& work_dir, const IterationDump& dump) {
  const fs::path target = fs::path(work_dir) / "numerics" / str_cat("iter_", dump.record.iter + 1);
  FolderInTheMaking folder(target);
  require_room(folder.path(), bytes_of(dump));
  write_file_atomically(folder.path() / kConfig, dump.config.to_yaml());
  write_batch(folder.path() / kBatch, dump.batch);
  write_weights(folder.path() / kWeights, dump.weights);
  std::vector<FileStamp> stamps;
  for (const char* name : {kConfig, kBatch, kWeights}) stamps.push_back(stamp_of(folder.path() / name));
  write_file_atomically(folder.path() / kRecord, record_text(dump.record, stamps));
  folder.commit();
  return target;
}

IterationDump read_iteration_dump(const std::string& folder) {
  const fs::path path(folder);
  if (!fs::is_directory(path))
    throw UserError(folder + ": no such folder; a run keeps failed iterations in WORK_DIR/numerics/iter_N");
  if (!fs::exists(path / kRecord))
    throw UserError(folder + ": is not the dump of an iteration: it has no " + kRecord);
  const FileBytes file(path / kRecord);
  IterationDump dump;
  std::vector<FileStamp> stamps;
  dump.record = parse_record(file.path(), file.read(0, file.size()), stamps);
  for (const char* name : {kConfig, kBatch, kWeights}) {
    bool known = false;
    for (const FileStamp& stamp : stamps) known = known || stamp.name == name;
    if (!known) throw UserError(str_cat(file.path(), ": is damaged: it does not list ", name));
  }
  for (const FileStamp& stamp : stamps) check_stamp(path, stamp);
  dump.config = load_config(path / kConfig);
  dump.batch = read_batch(path / kBatch);
  dump.weights = read_state(path / kWeights);
  return dump;
}

}  // namespace osprey
