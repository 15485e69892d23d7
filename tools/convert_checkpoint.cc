// Converts checkpoints between Osprey's format (.safetensors) and PyTorch's (.pth, as mmcv writes it).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include "core/base/error.h"
#include "core/io/pth.h"
#include "core/runner/checkpoint.h"
#include "tools/command_line.h"

namespace osprey {
namespace {

struct Arguments {
  std::string source, target;
  bool weights_only = false;
};

void add_options(CLI::App& app, Arguments& args) {
  app.add_option("source", args.source, "checkpoint, or any .safetensors or .pth file of weights")
      ->required();
  app.add_option("target", args.target, "file to write; its name ends in .safetensors or .pth")->required();
  app.add_flag("--weights-only", args.weights_only,
               "leave out optimizer and hooks, as for publishing: a third of the size");
}

// "424 tensors, 2.6 MiB (f32 422, i64 2)".
std::string size_of_state(const StateDict& state) {
  double bytes = 0;
  std::map<std::string, int> dtypes;
  for (const auto& [name, tensor] : state.entries()) {
    bytes += static_cast<double>(tensor.bytes());
    ++dtypes[str_cat(tensor.dtype())];
  }
  std::vector<std::string> counts;
  for (const auto& [dtype, count] : dtypes) counts.push_back(str_cat(dtype, " ", count));
  char mebibytes[32];
  std::snprintf(mebibytes, sizeof mebibytes, "%.1f", bytes / (1 << 20));
  return str_cat(state.size(), " tensors, ", mebibytes, " MiB (", join(counts), ")");
}

std::string describe_meta(const CheckpointMeta& meta) {
  std::string text = meta.recorded ? str_cat("epoch ", meta.epoch, ", iter ", meta.iter) : "none";
  if (!meta.classes.empty()) text += str_cat(", ", meta.classes.size(), " classes");
  return text;
}

std::string describe_optimizer(const Checkpoint& checkpoint) {
  if (checkpoint.optimizer.size() == 0) return "none";
  size_t params = 0;
  for (const ParamGroupRecord& group : checkpoint.param_groups) params += group.params.size();
  const size_t groups = checkpoint.param_groups.size();
  return str_cat(size_of_state(checkpoint.optimizer), ", ", params, " parameters in ", groups,
                 groups == 1 ? " group" : " groups");
}

std::string describe_hooks(const Checkpoint& checkpoint) {
  std::vector<std::string> hooks;
  for (const auto& [hook, state] : checkpoint.hooks) hooks.push_back(hook);
  return hooks.empty() ? "none" : join(hooks);
}

void print_summary(const Arguments& args, const Checkpoint& checkpoint,
                   const std::vector<std::string>& notes) {
  std::cout << args.source << " -> " << args.target << "\n"
            << "  weights    " << size_of_state(checkpoint.weights) << "\n"
            << "  optimizer  " << describe_optimizer(checkpoint) << "\n"
            << "  hooks      " << describe_hooks(checkpoint) << "\n"
            << "  meta       " << describe_meta(checkpoint.meta) << "\n";
  for (const std::string& note : notes) std::cout << "  " << note << "\n";
}

void drop_all_but_weights(Checkpoint& checkpoint) {
  checkpoint.optimizer = StateDict();
  checkpoint.param_groups.clear();
  checkpoint.hooks.clear();
}

// A .pth file numbers parameters; a checkpoint that does not name its groups cannot be numbered.
void note_lost_optimizer(const Checkpoint& checkpoint, const std::string& target,
                         std::vector<std::string>& notes) {
  if (ends_with(target, ".pth") && checkpoint.optimizer.size() > 0 && checkpoint.param_groups.empty())
    notes.push_back("the optimizer's state is left out: the source does not record its parameter groups");
}

void run(const Arguments& args) {
  if (!ends_with(args.target, ".pth") && !ends_with(args.target, ".safetensors"))
    throw UserError(args.target + ": the name of the target must end in .safetensors or .pth");
  std::vector<std::string> notes;
  Checkpoint checkpoint = read_checkpoint(args.source, &notes);
  if (args.weights_only) drop_all_but_weights(checkpoint);
  note_lost_optimizer(checkpoint, args.target, notes);
  write_checkpoint(args.target, checkpoint);
  print_summary(args, checkpoint, notes);
}

}  // namespace
}  // namespace osprey

int main(int argc, char** argv) {
  CLI::App app("Converts a checkpoint between Osprey's .safetensors and PyTorch's .pth, either way.");
  osprey::Arguments args;
  osprey::add_options(app, args);
  return osprey::run_tool(app, argc, argv, [&] { osprey::run(args); });
}
