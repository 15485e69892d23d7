#include "core/runner/pth_checkpoint.h"

#include <map>
#include <set>

#include "core/base/error.h"
#include "core/runner/hook_state.h"
#include "core/runner/pickle_dict.h"
#include "core/runner/torch_optimizer_state.h"

namespace osprey {
namespace {

using Notes = std::vector<std::string>;

StateDict state_from(const PickleObject& dict) {
  StateDict state;
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    if (dict.items[i]->is(PickleKind::kString) && dict.items[i + 1]->is(PickleKind::kTensor))
      state.put(dict.items[i]->text, dict.items[i + 1]->tensor);
  }
  return state;
}

// The states of our own hooks as we wrote them, else what mmcv says of the same hooks.
std::map<std::string, StateDict> hooks_from(const PickleDict& root, const PickleDict& meta) {
  std::map<std::string, StateDict> hooks;
  const PickleDict own = root.below("osprey").below("hooks");
  for (const std::string& hook : own.keys()) {
    if (const PickleObject* state = own.find(hook)) hooks[hook] = state_from(*state);
  }
  if (own.given()) return hooks;
  const PickleDict messages = meta.below("hook_msgs");
  if (const std::string last = messages.text("last_ckpt"); !last.empty())
    put_text(hooks["CheckpointHook"], "last_ckpt", last);
  const PickleDict scaler = meta.below("fp16").below("loss_scaler");
  for (const char* key : {"cur_scale", "cur_iter", "last_overflow_iter"}) {
    const PickleObject* value = scaler.find(key);
    if (value != nullptr && number_of(*value))
      put_number(hooks["Fp16OptimizerHook"], key, *number_of(*value));
  }
  return hooks;
}

CheckpointMeta read_meta(const PickleDict& dict, const std::string& path) {
  CheckpointMeta meta;
  meta.epoch = dict.integer("epoch");
  meta.iter = dict.integer("iter");
  check_counters(path, meta.epoch, meta.iter);
  meta.recorded = dict.find("epoch") && dict.find("iter");
  meta.seed = static_cast<uint64_t>(dict.integer("seed"));
  meta.config = dict.text("config");
  meta.exp_name = dict.text("exp_name");
  meta.version = dict.text("osprey_version");
  meta.time = dict.text("time");
  meta.num_threads = static_cast<int>(dict.integer("num_threads"));
  meta.world_size = static_cast<int>(dict.integer("world_size"));
  meta.device = dict.find("device") ? dict.text("device") : meta.device;
  if (const PickleObject* classes = dict.find("CLASSES")) {
    for (const PickleObject* name : classes->items) {
      if (name->is(PickleKind::kString)) meta.classes.push_back(name->text);
    }
  }
  return meta;
}

void note_what_is_left(const PickleDict& root, const PickleDict& meta, Notes& notes) {
  static const std::set<std::string> kRoot = {"meta", "state_dict", "optimizer", "osprey"};
  static const std::set<std::string> kMeta = {
      "epoch",       "iter", "seed",   "config",    "time",    "exp_name",  "osprey_version",
      "num_threads", "fp16", "device", "hook_msgs", "CLASSES", "world_size"};
  std::vector<std::string> left;
  for (const std::string& key : root.keys()) {
    if (root.find("state_dict") && !kRoot.count(key)) left.push_back(key);
  }
  for (const std::string& key : meta.keys()) {
    if (!kMeta.count(key)) left.push_back("meta." + key);
  }
  if (!left.empty()) notes.push_back("left out, has no place here: " + join(left));
}

}  // namespace

CheckpointMeta meta_from_pth(const PthFile& file, const std::string& path) {
  return read_meta(PickleDict(file.root, path).below("meta"), path);
}

Checkpoint from_pth(const PthFile& file, const std::string& path, Notes* notes) {
  Notes unwanted;
  Notes& told = notes ? *notes : unwanted;
  const PickleDict root(file.root, path), meta = root.below("meta");
  Checkpoint checkpoint;
  checkpoint.meta = read_meta(meta, path);
  for (auto& [name, tensor] : pth_state_dict(file, path)) checkpoint.weights.put(name, std::move(tensor));
  const PickleDict optimizer = root.below("optimizer");
  if (optimizer.given()) {
    const std::string problem = read_torch_optimizer(optimizer, checkpoint);
    if (!problem.empty()) told.push_back("the optimizer's state is left out: " + problem);
  }
  checkpoint.hooks = hooks_from(root, meta);
  note_what_is_left(root, meta, told);
  return checkpoint;
}

}  // namespace osprey
