#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/nn/module.h"
#include "core/optim/master_parameter.h"

namespace osprey {

struct UnscaleJob;

// The f32 truth behind a model that may compute in half: one MasterParameter per parameter, paired by name.
// In an f32 model every master is the parameter's own tensor, so the same code trains both.
// The model must outlive it.
class MasterWeights {
 public:
  explicit MasterWeights(Module& model);

  // Turns the model into f16 or bf16 (norms and `keep_fp32` stay f32). The masters keep the f32 values, those
  // of frozen parameters too: nothing is lost to rounding in a checkpoint. Call once.
  void convert_model(DType dtype, const std::vector<std::string>& keep_fp32);
  // The model's precision: f32 before convert_model().
  DType precision() const { return precision_; }
  const std::vector<std::string>& keep_fp32() const { return keep_fp32_; }  // as given there

  std::vector<MasterParameter*> trainable() const;
  MasterParameter* find(const std::string& name) const;  // null when unknown
  const std::vector<std::unique_ptr<MasterParameter>>& all() const { return masters_; }

  // Steps 3 and 5 of mixed precision in one pass over the model's gradients: widen to f32, divide by the loss
  // scale, check. The model's gradients are cleared; they are added to what the masters already hold, so that
  // accumulated iterations sum up in f32. Returns the names of the parameters whose gradient is not finite.
  std::vector<std::string> take_grads(double loss_scale);
  // The same in two halves, so that the host may wait once for this and other numbers: marks i32, one for
  // each of all(), on the model's device; then the names of those that are not 0.
  Tensor start_taking_grads(double loss_scale);
  std::vector<std::string> nonfinite_grads(const std::vector<int32_t>& marks) const;
  void drop_grads();  // the masters' and the model's

  // Rounds the masters into the half parameters. Parameters in f32 share their memory with the master.
  void copy_to_model();

  // While one lives, those parameters of the model whose name `chosen` accepts (none given: all) are the f32
  // masters, and their layers compute in f32: for the question whether a failure is half's.
  class InFp32 {
   public:
    explicit InFp32(MasterWeights& weights, const std::function<bool(const std::string& name)>& chosen = {});
    ~InFp32();
    InFp32(const InFp32&) = delete;
    InFp32& operator=(const InFp32&) = delete;

   private:
    std::vector<std::pair<Parameter*, Variable>> halves_;
  };

  // The model's state dict with the masters in place of rounded weights: f32, reference layout.
  StateDict state_dict() const;

 private:
  UnscaleJob take_grad(size_t i, const Tensor& grad, float factor, const Tensor& mark);

  Module& model_;
  DType precision_ = DType::kF32;
  std::vector<std::string> keep_fp32_;
  std::vector<std::unique_ptr<MasterParameter>> masters_;
  std::vector<Parameter*> parameters_;  // parameters_[i] belongs to masters_[i]
  Tensors grad_buffers_;  // grad_buffers_[i] holds masters_[i]->grad when that is not the model's
};

// Who computes in what and why, one line per part of the model, for the log: counts of layers by dtype, and
// the reason for those that keep f32.
std::string precision_table(Module& model, DType dtype, const std::vector<std::string>& keep_fp32);

}  // namespace osprey
