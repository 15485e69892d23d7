#include "core/runner/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"
#include "core/base/logging.h"
#include "core/io/pth.h"
#include "core/io/safetensors.h"
#include "core/runner/hook_state.h"
#include "core/runner/pth_checkpoint.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr char kOptimizer[] = "optimizer.";
constexpr char kHooks[] = "hooks.";
constexpr char kLatest[] = "latest.safetensors";

// Numbers and texts of the hooks' states, for people; the tensors hold the same.
std::string readable_hook_states(const std::map<std::string, StateDict>& hooks) {
  Json all = Json::object();
  for (const auto& [hook, state] : hooks) {
    for (const auto& [key, tensor] : state.entries()) {
      if (is_number(tensor)) all[hook][key] = tensor.item();
      if (is_text(tensor)) all[hook][key] = *find_text(state, key);
    }
  }
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string meta_of(const std::map<std::string, std::string>& metadata) {
  const auto text = metadata.find("meta");
  return text == metadata.end() ? "{}" : text->second;
}

void require_file(const std::string& path) {
  if (!fs::exists(path)) throw UserError(path + ": no such checkpoint");
  if (fs::is_directory(path))
    throw UserError(path + ": is a folder; give a checkpoint, e.g. " + (fs::path(path) / kLatest).string());
}

void append(Safetensors& file, const std::string& prefix, const StateDict& state) {
  for (const auto& [name, tensor] : state.entries()) file.tensors.emplace_back(prefix + name, tensor);
}

// Names of the files that latest.safetensors and latest.pth point to.
std::set<fs::path> linked_files(const std::string& work_dir) {
  std::set<fs::path> names;
  for (const char* link : {kLatest, "latest.pth"}) {
    std::error_code none;
    const fs::path target = fs::read_symlink(fs::path(work_dir) / link, none);
    if (!none) names.insert(target);
  }
  return names;
}

// "epoch_3.safetensors", "iter_500.pth".
bool named_by_number(const std::string& name) {
  const bool checkpoint = ends_with(name, ".safetensors") || ends_with(name, ".pth");
  return checkpoint && (starts_with(name, "epoch_") || starts_with(name, "iter_"));
}

// Puts one entry of the file where it belongs.
void sort_in(Checkpoint& checkpoint, const std::string& name, Tensor tensor) {
  if (starts_with(name, kOptimizer)) {
    checkpoint.optimizer.put(name.substr(sizeof kOptimizer - 1), std::move(tensor));
  } else if (starts_with(name, kHooks)) {
    const std::string rest = name.substr(sizeof kHooks - 1);
    const size_t slash = rest.find('/');
    if (slash != std::string::npos)
      checkpoint.hooks[rest.substr(0, slash)].put(rest.substr(slash + 1), std::move(tensor));
  } else {
    checkpoint.weights.put(name, std::move(tensor));
  }
}

}  // namespace

void write_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  if (ends_with(path, ".pth")) return write_pth(path, *to_pth(checkpoint).root);
  Safetensors file;
  append(file, "", checkpoint.weights);
  append(file, kOptimizer, checkpoint.optimizer);
  for (const auto& [hook, state] : checkpoint.hooks) append(file, kHooks + hook + "/", state);
  file.metadata["format"] = "osprey";
  file.metadata["meta"] =
      meta_text(checkpoint.meta, checkpoint.param_groups, readable_hook_states(checkpoint.hooks));
  write_safetensors(path, file);
}

Checkpoint read_checkpoint(const std::string& path, std::vector<std::string>* notes) {
  require_file(path);
  if (is_pth(path)) {
    std::vector<std::string> told;
    Checkpoint checkpoint = from_pth(read_pth(path), path, notes ? notes : &told);
    for (const std::string& note : told) log_info(path + ": " + note);
    return checkpoint;
  }
  Safetensors file = read_safetensors(path);
  Checkpoint checkpoint;
  checkpoint.meta = parse_meta(path, meta_of(file.metadata), &checkpoint.param_groups);
  for (auto& [name, tensor] : file.tensors) sort_in(checkpoint, name, std::move(tensor));
  return checkpoint;
}

CheckpointMeta read_checkpoint_meta(const std::string& path) {
  require_file(path);
  if (is_pth(path)) return meta_from_pth(read_pth_objects(path), path);
  return parse_meta(path, meta_of(read_safetensors_metadata(path)));
}

StateDict read_weights(const std::string& path) {
  require_file(path);
  if (!is_pth(path)) return read_checkpoint(path).weights;
  StateDict weights;
  for (auto& [name, tensor] : pth_state_dict(read_pth(path), path)) weights.put(name, std::move(tensor));
  return weights;
}

std::string first_nonfinite(const StateDict& state) {
  for (const auto& [name, tensor] : state.entries()) {
    if (is_floating(tensor.dtype()) && !all_finite(tensor)) return name;
  }
  return "";
}

std::string first_nonfinite(const Checkpoint& checkpoint) {
  std::string bad = first_nonfinite(checkpoint.weights);
  if (bad.empty()) bad = first_nonfinite(checkpoint.optimizer);
  for (const auto& [hook, state] : checkpoint.hooks) {
    if (bad.empty()) bad = first_nonfinite(state);
  }
  return bad;
}

void point_link(const std::string& dir, const std::string& link, const std::string& target) {
  const fs::path temporary = fs::path(dir) / ("." + link + ".tmp");
  std::error_code error;
  fs::remove(temporary, error);
  fs::create_symlink(target, temporary, error);
  if (!error) fs::rename(temporary, fs::path(dir) / link, error);
  if (error) throw UserError(str_cat(dir, "/", link, ": cannot link to ", target, ": ", error.message()));
}

std::vector<std::string> find_checkpoints(const std::string& work_dir, std::vector<std::string>* damaged) {
  std::vector<std::pair<int64_t, std::string>> found;  // iterations, path
  const std::set<fs::path> linked = linked_files(work_dir);
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(work_dir, missing)) {
    const std::string name = entry.path().filename();
    if (!entry.is_regular_file() || entry.is_symlink()) continue;
    if (!linked.count(name) && !named_by_number(name)) continue;
    try {
      const CheckpointMeta meta = read_checkpoint_meta(entry.path());
      if (meta.recorded) found.emplace_back(meta.iter, entry.path());
    } catch (const UserError& error) {
      if (damaged) damaged->push_back(error.what());
    }
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> paths;
  for (const auto& [iter, path] : found) paths.push_back(path);
  return paths;
}

}  // namespace osprey
