#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/nn/parameter.h"

namespace osprey {

// Names and tensors in the reference layout, in definition order.
class StateDict {
 public:
  void put(const std::string& name, Tensor tensor);  // replaces an entry of the same name
  const Tensor* find(const std::string& name) const;
  const std::vector<std::pair<std::string, Tensor>>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }

 private:
  std::vector<std::pair<std::string, Tensor>> entries_;
  std::map<std::string, size_t> index_;
};

// What did not match when a state dict was loaded.
struct LoadReport {
  std::vector<std::string> missing;     // in the module, not in the dict
  std::vector<std::string> unexpected;  // in the dict, not in the module
  std::vector<std::string> mismatched;  // "name: shape (a) in the checkpoint, (b) in the model"
  bool clean() const { return missing.empty() && unexpected.empty() && mismatched.empty(); }
};

// A part of a model. Children, parameters and buffers are named members, created in the constructor in the
// order of mmdetection's state dict, under its names.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Draws initial weights, as the reference does for this module; children first. `seed` names the random
  // stream; each parameter's numbers depend on the seed and its path alone.
  virtual void init_weights(uint64_t seed);

  // Training mode of this module and all below. Layers with norm_eval or frozen stages override it.
  virtual void train(bool on = true);
  bool training() const { return training_; }

  // Dotted path from the root, set by assign_paths() on the root: "roi_head.bbox_head.0.fc_cls".
  void assign_paths(const std::string& prefix = "");
  const std::string& path() const { return path_; }

  std::vector<std::pair<std::string, Parameter*>> named_parameters();
  std::vector<std::pair<std::string, Buffer*>> named_buffers();
  std::vector<std::pair<std::string, Module*>> named_modules();  // this one ("") and all below, parents first

  // Weights and buffers in the reference layout, in their own dtype.
  StateDict state_dict();
  // Copies matching entries in, converting layout and dtype. Never throws for a mismatch: the caller decides
  // by the report.
  LoadReport load_state_dict(const StateDict& state);

  // Converts parameters to f16 or bf16, except in modules that keep f32: norms, and those whose path matches
  // one of the globs. A layer computes in the dtype of its weights and casts its input to it.
  void convert_precision(DType dtype, const std::vector<std::string>& keep_fp32 = {});
  virtual bool keeps_fp32() const { return false; }

  // The two ends of an iteration's transaction for buffers.
  void commit_buffers();
  void discard_buffers();

  // Moves parameters and floating buffers; counters stay with the host, which counts. Before an optimizer or
  // masters are made of the parameters: those keep the tensors they saw. Gradients are dropped.
  void to(Device device);
  Device device();  // of the first parameter; the CPU when there is none

  void set_requires_grad(bool on);  // all parameters here and below
  void zero_grad();

 protected:
  template <typename M>
  M* add_child(const std::string& name, std::unique_ptr<M> child) {
    M* raw = child.get();
    children_.emplace_back(name, std::move(child));
    return raw;
  }
  Parameter* add_parameter(const std::string& name, Tensor value, WeightLayout layout = {});
  Buffer* add_buffer(const std::string& name, Tensor value);

  const std::vector<std::pair<std::string, std::unique_ptr<Module>>>& children() const { return children_; }

 private:
  template <typename Visit>
  void visit(const std::string& prefix, const Visit& visitor);

  std::vector<std::pair<std::string, std::unique_ptr<Module>>> children_;
  std::vector<std::pair<std::string, std::unique_ptr<Parameter>>> parameters_;
  std::vector<std::pair<std::string, std::unique_ptr<Buffer>>> buffers_;
  std::string path_;
  bool training_ = true;
};

// A list of modules under the names "0", "1", ... (torch.nn.ModuleList).
template <typename M>
class ModuleList final : public Module {
 public:
  M* append(std::unique_ptr<M> item) {
    items_.push_back(add_child(std::to_string(items_.size()), std::move(item)));
    return items_.back();
  }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  M& operator[](size_t i) const { return *items_[i]; }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<M*> items_;
};

}  // namespace osprey
