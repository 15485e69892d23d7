#include "core/runner/torch_optimizer_state.h"

namespace osprey {
namespace {

// Entries of a state dict that PyTorch's optimizers do not number: buffers of norms and of ConvAWS, and the
// averages of mmcv's EMAHook.
bool is_buffer(const std::string& name) {
  for (const char* suffix :
       {"running_mean", "running_var", "num_batches_tracked", "weight_gamma", "weight_beta"}) {
    if (ends_with(name, suffix)) return true;
  }
  return starts_with(name, "ema_");
}

// A hyper-parameter of a group; nothing for what has no number (foreach: None).
std::optional<GroupOption> read_option(const std::string& name, const PickleObject& value) {
  if (value.is(PickleKind::kTuple) || value.is(PickleKind::kList)) {
    GroupOption option{name, {}, false};
    for (const PickleObject* item : value.items) {
      if (const auto number = number_of(*item)) option.values.push_back(*number);
    }
    return option.values.empty() ? std::nullopt : std::optional(option);
  }
  const auto number = number_of(value);
  if (!number) return std::nullopt;
  return GroupOption{name, {*number}, value.is(PickleKind::kBool)};
}

// Every step is false, with the reason in problem(), when the numbers cannot be told.
class OptimizerReader {
 public:
  OptimizerReader(const PickleDict& optimizer, const StateDict& weights) : optimizer_(optimizer) {
    for (const auto& [name, tensor] : weights.entries()) {
      if (is_buffer(name)) continue;
      names_.push_back(name);
      shapes_.push_back(tensor.shape());
    }
  }

  bool read(Checkpoint& checkpoint) { return read_groups(checkpoint) && read_states(checkpoint); }
  const std::string& problem() const { return problem_; }

 private:
  template <typename... Args>
  bool fail(const Args&... reason) {
    problem_ = str_cat(reason...);
    return false;
  }

  bool read_groups(Checkpoint& checkpoint) {
    const PickleObject* groups = optimizer_.find("param_groups");
    if (groups == nullptr || !groups->is(PickleKind::kList)) return fail("it has no param_groups");
    size_t count = 0;
    for (const PickleObject* item : groups->items) {
      const PickleObject* params = item->find("params");
      if (params == nullptr) return fail("a group has no params");
      count += params->items.size();
    }
    if (count != names_.size())
      return fail("it numbers ", count, " parameters, the state_dict has ", names_.size());
    for (const PickleObject* item : groups->items) {
      if (!read_group(*item, checkpoint)) return false;
    }
    return true;
  }

  bool read_group(const PickleObject& item, Checkpoint& checkpoint) {
    ParamGroupRecord group;
    for (const PickleObject* index : item.find("params")->items) {
      if (!known(*index)) return fail("a group numbers its parameters in another way");
      group.params.push_back(names_[static_cast<size_t>(index->integer)]);
    }
    for (size_t i = 0; i + 1 < item.items.size(); i += 2) {
      if (!item.items[i]->is(PickleKind::kString) || item.items[i]->text == "params") continue;
      if (const auto option = read_option(item.items[i]->text, *item.items[i + 1]))
        group.options.push_back(*option);
    }
    checkpoint.param_groups.push_back(std::move(group));
    return true;
  }

  bool known(const PickleObject& index) const {
    return index.is(PickleKind::kInt) && index.integer >= 0 &&
           index.integer < static_cast<int64_t>(names_.size());
  }

  bool read_states(Checkpoint& checkpoint) {
    const PickleObject* states = optimizer_.find("state");
    if (states == nullptr || !states->is(PickleKind::kDict)) return fail("it has no state");
    for (size_t i = 0; i + 1 < states->items.size(); i += 2) {
      const PickleObject& index = *states->items[i];
      if (!known(index)) return fail("it has a state of an unknown parameter");
      if (!read_state(static_cast<size_t>(index.integer), *states->items[i + 1], checkpoint)) return false;
    }
    return true;
  }

  bool read_state(size_t number, const PickleObject& state, Checkpoint& checkpoint) {
    for (size_t i = 0; i + 1 < state.items.size(); i += 2) {
      const std::string& key = state.items[i]->text;
      const PickleObject& value = *state.items[i + 1];
      if (key == "step") {
        const double steps = number_of(value).value_or(-1);
        if (!(steps >= 0 && steps < 0x1p53)) return fail("parameter ", number, " has no valid step");
        const auto step = static_cast<int64_t>(steps);
        checkpoint.optimizer.put(names_[number] + ".step", Tensor::from<int64_t>({step}, {}));
      } else if (value.is(PickleKind::kTensor)) {
        if (value.tensor.shape() != shapes_[number])
          return fail("parameter ", number, " (", names_[number], " ", to_string(shapes_[number]), ") has a ",
                      key, " of ", to_string(value.tensor.shape()));
        checkpoint.optimizer.put(names_[number] + "." + key, value.tensor);
      }
    }
    return true;
  }

  const PickleDict& optimizer_;
  std::vector<std::string> names_;  // of the parameters, in PyTorch's order
  std::vector<Shape> shapes_;
  std::string problem_;
};

}  // namespace

std::string read_torch_optimizer(const PickleDict& optimizer, Checkpoint& checkpoint) {
  OptimizerReader reader(optimizer, checkpoint.weights);
  if (reader.read(checkpoint)) return "";
  checkpoint.optimizer = StateDict();
  checkpoint.param_groups.clear();
  return reader.problem();
}

}  // namespace osprey
