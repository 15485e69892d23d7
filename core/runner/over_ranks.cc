#include "core/runner/over_ranks.h"

#include <functional>

#include "core/ops/elementwise.h"
#include "core/parallel/communicator.h"

namespace osprey {
namespace {

std::string names_of(const LossDict& losses) {
  std::vector<std::string> names;
  for (const auto& [name, value] : losses.entries()) names.push_back(name);
  return join(names);
}

// A double holds 53 bits of the hash exactly.
bool same_everywhere(const std::string& text) {
  const double hash = static_cast<double>(std::hash<std::string>{}(text) >> 11);
  std::vector<double> extremes{hash, -hash};
  world().all_reduce(extremes, Communicator::Reduce::kMax);
  return extremes[0] == -extremes[1];
}

void require_equal_names(const LossDict& losses) {
  const std::string names = names_of(losses);
  if (same_everywhere(names)) return;
  const std::vector<std::string> all = world().all_gather(names);
  std::vector<std::string> told;
  for (size_t rank = 0; rank < all.size(); ++rank) told.push_back(str_cat("rank ", rank, " has ", all[rank]));
  throw Error("loss log variables are different across GPUs: " + join(told, "; "));
}

}  // namespace

void average_losses(const LossDict& losses, std::vector<double>& numbers) {
  if (world().size() == 1) return;
  require_equal_names(losses);
  world().all_reduce(numbers, Communicator::Reduce::kSum);
  for (double& number : numbers) number /= world().size();
}

void broadcast_model(Module& model) {
  if (world().size() == 1) return;
  for (const auto& [name, parameter] : model.named_parameters())
    world().broadcast(parameter->variable.mutable_value());
  broadcast_buffers(model);
}

void broadcast_buffers(Module& model) {
  if (world().size() == 1) return;
  for (const auto& [name, buffer] : model.named_buffers()) world().broadcast(buffer->value);
}

void average_buffers(Module& model) {
  if (world().size() == 1) return;
  for (const auto& [name, buffer] : model.named_buffers()) {
    if (!is_floating(buffer->value.dtype())) continue;
    Tensor sum = buffer->value.clone();
    world().all_reduce(sum);
    buffer->value.copy_from((1.0 / world().size() * Variable(sum)).value());
  }
}

}  // namespace osprey
