#include "core/runner/hook_state.h"
#include "core/runner/pth_checkpoint.h"

namespace osprey {
namespace {

// Builds Python's values.
class Builder {
 public:
  explicit Builder(PickleArena& arena) : arena_(arena) {}

  PickleObject* dict(bool ordered = false) {
    PickleObject* made = arena_.add(PickleKind::kDict);
    made->ordered = ordered;
    return made;
  }
  PickleObject* sequence(PickleKind kind, std::vector<PickleObject*> items) {
    PickleObject* made = arena_.add(kind);
    made->items = std::move(items);
    return made;
  }
  PickleObject* texts(const std::vector<std::string>& values) {
    PickleObject* made = arena_.add(PickleKind::kTuple);
    for (const std::string& value : values) made->items.push_back(arena_.text(value));
    return made;
  }
  PickleObject* option(const GroupOption& option) {
    if (option.flag) return arena_.boolean(option.values.at(0) != 0);
    if (option.values.size() == 1) return arena_.number(option.values[0]);
    PickleObject* made = arena_.add(PickleKind::kTuple);
    for (const double value : option.values) made->items.push_back(arena_.number(value));
    return made;
  }
  void put(PickleObject* dict, const std::string& key, PickleObject* value) {
    dict->put(arena_.text(key), value);
  }
  PickleArena& arena() { return arena_; }

 private:
  PickleArena& arena_;
};

PickleObject* tensors_of(Builder& py, const StateDict& state) {
  PickleObject* dict = py.dict(/*ordered=*/true);
  for (const auto& [name, tensor] : state.entries()) py.put(dict, name, py.arena().tensor(tensor.to(kCPU)));
  return dict;
}

const StateDict* state_of(const Checkpoint& checkpoint, const std::string& hook) {
  const auto found = checkpoint.hooks.find(hook);
  return found == checkpoint.hooks.end() ? nullptr : &found->second;
}

void copy_text(Builder& py, const StateDict* from, const std::string& key, PickleObject* dict) {
  if (from == nullptr) return;
  if (const auto text = find_text(*from, key)) py.put(dict, key, py.arena().text(*text));
}

// What mmcv's runner keeps of its hooks: the last and the best checkpoint.
PickleObject* hook_messages(Builder& py, const Checkpoint& checkpoint) {
  PickleObject* messages = py.dict();
  copy_text(py, state_of(checkpoint, "CheckpointHook"), "last_ckpt", messages);
  const StateDict* eval = state_of(checkpoint, "EvalHook");
  copy_text(py, eval, "best_ckpt", messages);
  if (eval != nullptr) {
    if (const auto best = find_number(*eval, "best_score"))
      py.put(messages, "best_score", py.arena().number(*best));
  }
  return messages;
}

// mmcv's LossScaler.state_dict(), which its Fp16OptimizerHook resumes from; nullptr without one.
PickleObject* loss_scaler(Builder& py, const Checkpoint& checkpoint) {
  const StateDict* state = state_of(checkpoint, "Fp16OptimizerHook");
  if (state == nullptr || !find_number(*state, "cur_scale")) return nullptr;
  PickleObject* scaler = py.dict();
  py.put(scaler, "cur_scale", py.arena().number(*find_number(*state, "cur_scale")));
  for (const char* key : {"cur_iter", "last_overflow_iter"})
    py.put(scaler, key, py.arena().integer(static_cast<int64_t>(find_number(*state, key).value_or(0))));
  PickleObject* fp16 = py.dict();
  py.put(fp16, "loss_scaler", scaler);
  return fp16;
}

PickleObject* meta_dict(Builder& py, const Checkpoint& checkpoint) {
  const CheckpointMeta& meta = checkpoint.meta;
  PickleArena& a = py.arena();
  PickleObject* dict = py.dict();
  if (meta.recorded) {
    py.put(dict, "epoch", a.integer(meta.epoch));
    py.put(dict, "iter", a.integer(meta.iter));
    py.put(dict, "seed", a.integer(static_cast<int64_t>(meta.seed)));
  }
  if (!meta.classes.empty()) py.put(dict, "CLASSES", py.texts(meta.classes));
  const std::pair<const char*, const std::string&> texts[] = {{"config", meta.config},
                                                              {"exp_name", meta.exp_name},
                                                              {"time", meta.time},
                                                              {"osprey_version", meta.version},
                                                              {"device", meta.device}};
  for (const auto& [key, text] : texts) {
    if (!text.empty()) py.put(dict, key, a.text(text));
  }
  if (meta.num_threads > 0) py.put(dict, "num_threads", a.integer(meta.num_threads));
  if (meta.world_size > 0) py.put(dict, "world_size", a.integer(meta.world_size));
  py.put(dict, "hook_msgs", hook_messages(py, checkpoint));
  if (PickleObject* fp16 = loss_scaler(py, checkpoint)) py.put(dict, "fp16", fp16);
  return dict;
}

// The state of one parameter under torch.optim's keys. SGD's step is ours alone.
PickleObject* parameter_state(Builder& py, const StateDict& optimizer, const std::string& name) {
  PickleObject* state = py.dict();
  for (const char* key : {"momentum_buffer", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"}) {
    if (const Tensor* tensor = optimizer.find(name + "." + key))
      py.put(state, key, py.arena().tensor(tensor->to(kCPU)));
  }
  const Tensor* step = optimizer.find(name + ".step");
  if (step != nullptr && optimizer.find(name + ".exp_avg"))
    py.put(state, "step", py.arena().integer(static_cast<int64_t>(step->item())));
  return state;
}

PickleObject* optimizer_dict(Builder& py, const Checkpoint& checkpoint) {
  PickleObject* states = py.dict();
  PickleObject* groups = py.arena().add(PickleKind::kList);
  int64_t number = 0;
  for (const ParamGroupRecord& record : checkpoint.param_groups) {
    PickleObject* group = py.dict();
    for (const GroupOption& option : record.options) py.put(group, option.name, py.option(option));
    PickleObject* params = py.arena().add(PickleKind::kList);
    for (const std::string& name : record.params) {
      PickleObject* state = parameter_state(py, checkpoint.optimizer, name);
      if (!state->items.empty()) states->put(py.arena().integer(number), state);
      params->items.push_back(py.arena().integer(number++));
    }
    py.put(group, "params", params);
    groups->items.push_back(group);
  }
  PickleObject* dict = py.dict();
  py.put(dict, "state", states);
  py.put(dict, "param_groups", groups);
  return dict;
}

PickleObject* hook_states(Builder& py, const Checkpoint& checkpoint) {
  PickleObject* hooks = py.dict();
  for (const auto& [hook, state] : checkpoint.hooks) py.put(hooks, hook, tensors_of(py, state));
  PickleObject* osprey = py.dict();
  py.put(osprey, "hooks", hooks);
  return osprey;
}

}  // namespace

PthFile to_pth(const Checkpoint& checkpoint) {
  PthFile file{std::make_shared<PickleArena>(), nullptr};
  Builder py(*file.arena);
  PickleObject* root = py.dict();
  py.put(root, "meta", meta_dict(py, checkpoint));
  py.put(root, "state_dict", tensors_of(py, checkpoint.weights));
  if (!checkpoint.param_groups.empty()) py.put(root, "optimizer", optimizer_dict(py, checkpoint));
  if (!checkpoint.hooks.empty()) py.put(root, "osprey", hook_states(py, checkpoint));
  file.root = root;
  return file;
}

}  // namespace osprey
