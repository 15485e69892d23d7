#include <algorithm>
#include <map>

#include "core/amp/master_weights.h"
#include "core/base/strings.h"

namespace osprey {
namespace {

std::string parent_of(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

// "roi_head.bbox_head.0.fc_cls" -> "roi_head.bbox_head": the granularity of the table.
std::string part_of(const std::string& path) {
  const size_t first = path.find('.');
  return first == std::string::npos ? path : path.substr(0, path.find('.', first + 1));
}

std::string reason_for_fp32(const std::string& path, Module& module,
                            const std::vector<std::string>& keep_fp32) {
  for (const std::string& glob : keep_fp32) {
    if (glob_match(glob, path) || glob_match(glob + ".*", path)) return "keep_fp32: '" + glob + "'";
  }
  return module.keeps_fp32() ? "the layer keeps f32" : "not converted";
}

}  // namespace

std::string precision_table(Module& model, DType dtype, const std::vector<std::string>& keep_fp32) {
  std::map<std::string, Module*> modules;
  for (const auto& [path, module] : model.named_modules()) modules[path] = module;
  std::vector<std::string> parts;  // in model order
  std::map<std::string, std::map<std::string, int>>
      layers_by_reason;  // part -> "f16" or "f32 (why)" -> count
  std::string last_layer;
  for (const auto& [name, parameter] : model.named_parameters()) {
    const std::string layer = parent_of(name);
    if (layer == last_layer) continue;
    last_layer = layer;
    const std::string part = part_of(layer);
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
    const DType own = parameter->variable.dtype();
    const std::string what =
        own == dtype ? str_cat(own)
                     : str_cat(own, " (", reason_for_fp32(layer, *modules.at(layer), keep_fp32), ")");
    ++layers_by_reason[part][what];
  }
  std::string table =
      str_cat("Precision of parameters, activations and gradients (masters, optimizer and losses: f32):");
  for (const std::string& part : parts) {
    std::vector<std::string> counts;
    for (const auto& [what, count] : layers_by_reason[part])
      counts.push_back(str_cat(count, count == 1 ? " layer " : " layers ", what));
    table += "\n  " + part + std::string(part.size() < 28 ? 28 - part.size() : 1, ' ') + join(counts);
  }
  return table;
}

}  // namespace osprey
