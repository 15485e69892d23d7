#include "core/runner/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/logging.h"
#include "core/io/pth.h"
#include "core/io/safetensors.h"
#include "core/runner/hook_state.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr char kOptimizer[] = "optimizer.";
constexpr char kHooks[] = "hooks.";
constexpr char kLatest[] = "latest.safetensors";

// Numbers and texts of the hooks' states, for people; the tensors hold the same.
Json readable_hook_states(const std::map<std::string, StateDict>& hooks) {
  Json all = Json::object();
  for (const auto& [hook, state] : hooks) {
    for (const auto& [key, tensor] : state.entries()) {
      if (is_number(tensor)) all[hook][key] = tensor.item();
      if (is_text(tensor)) all[hook][key] = *find_text(state, key);
    }
  }
  return all;
}

std::string meta_text(const Checkpoint& checkpoint) {
  const CheckpointMeta& meta = checkpoint.meta;
  const Json json = {{"epoch", meta.epoch},     {"iter", meta.iter},
                     {"seed", meta.seed},       {"exp_name", meta.exp_name},
                     {"CLASSES", meta.classes}, {"osprey_version", meta.version},
                     {"time", meta.time},       {"num_threads", meta.num_threads},
                     {"device", meta.device},   {"hooks", readable_hook_states(checkpoint.hooks)},
                     {"config", meta.config}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

CheckpointMeta parse_meta(const std::string& path, const std::map<std::string, std::string>& metadata) {
  CheckpointMeta meta;
  const auto text = metadata.find("meta");
  if (text == metadata.end()) return meta;
  try {
    const Json json = Json::parse(text->second);
    meta.epoch = json.value("epoch", int64_t{0});
    meta.iter = json.value("iter", int64_t{0});
    meta.seed = json.value("seed", uint64_t{0});
    meta.exp_name = json.value("exp_name", "");
    meta.classes = json.value("CLASSES", std::vector<std::string>{});
    meta.version = json.value("osprey_version", "");
    meta.time = json.value("time", "");
    meta.num_threads = json.value("num_threads", 0);
    meta.device = json.value("device", "cpu");
    meta.config = json.value("config", "");
  } catch (const Json::exception& error) {
    throw UserError(str_cat(path, ": the checkpoint's meta data cannot be read: ", error.what()));
  }
  return meta;
}

void require_file(const std::string& path) {
  if (!fs::exists(path)) throw UserError(path + ": no such checkpoint");
  if (fs::is_directory(path))
    throw UserError(path + ": is a folder; give a checkpoint, e.g. " + (fs::path(path) / kLatest).string());
}

void append(Safetensors& file, const std::string& prefix, const StateDict& state) {
  for (const auto& [name, tensor] : state.entries()) file.tensors.emplace_back(prefix + name, tensor);
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

void log_list(const std::string& title, const std::vector<std::string>& names) {
  if (!names.empty()) log_warning(title + ": " + join(names));
}

}  // namespace

void write_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  Safetensors file;
  append(file, "", checkpoint.weights);
  append(file, kOptimizer, checkpoint.optimizer);
  for (const auto& [hook, state] : checkpoint.hooks) append(file, kHooks + hook + "/", state);
  file.metadata["format"] = "osprey";
  file.metadata["meta"] = meta_text(checkpoint);
  write_safetensors(path, file);
}

Checkpoint read_checkpoint(const std::string& path) {
  require_file(path);
  Safetensors file = read_safetensors(path);
  Checkpoint checkpoint;
  checkpoint.meta = parse_meta(path, file.metadata);
  for (auto& [name, tensor] : file.tensors) sort_in(checkpoint, name, std::move(tensor));
  return checkpoint;
}

CheckpointMeta read_checkpoint_meta(const std::string& path) {
  require_file(path);
  return parse_meta(path, read_safetensors_metadata(path));
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

void load_weights(Module& model, const StateDict& weights, const std::string& path) {
  const std::string bad = first_nonfinite(weights);
  if (!bad.empty()) throw UserError(str_cat(path, ": weights already non-finite: ", bad));
  LoadReport report = model.load_state_dict(weights);
  // BN counters exist in PyTorch only; mmcv ignores them too.
  std::erase_if(report.unexpected,
                [](const std::string& name) { return ends_with(name, "num_batches_tracked"); });
  std::erase_if(report.missing,
                [](const std::string& name) { return ends_with(name, "num_batches_tracked"); });
  if (report.unexpected.size() >= weights.size() && weights.size() > 0)
    throw UserError(str_cat(path, ": none of its ", weights.size(),
                            " tensors belongs to this model (first: '", weights.entries()[0].first, "')"));
  if (report.clean()) return;
  log_warning(path + ": the model and loaded state dict do not match exactly");
  log_list("size mismatch (left as initialised)", report.mismatched);
  log_list("unexpected key in source state_dict", report.unexpected);
  log_list("missing keys in source state_dict (left as initialised)", report.missing);
}

void point_link(const std::string& dir, const std::string& link, const std::string& target) {
  const fs::path temporary = fs::path(dir) / ("." + link + ".tmp");
  std::error_code error;
  fs::remove(temporary, error);
  fs::create_symlink(target, temporary, error);
  if (!error) fs::rename(temporary, fs::path(dir) / link, error);
  if (error) throw UserError(str_cat(dir, "/", link, ": cannot link to ", target, ": ", error.message()));
}

std::string find_latest_checkpoint(const std::string& work_dir) {
  const fs::path link = fs::path(work_dir) / kLatest;
  if (fs::exists(link)) return link;
  std::string newest;
  int64_t most_iters = -1;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(work_dir, missing)) {
    const std::string name = entry.path().filename();
    if (!ends_with(name, ".safetensors") || !(starts_with(name, "epoch_") || starts_with(name, "iter_")))
      continue;
    const int64_t iters = read_checkpoint_meta(entry.path()).iter;
    if (iters > most_iters) {
      most_iters = iters;
      newest = entry.path();
    }
  }
  return newest;
}

}  // namespace osprey
