#include "core/runner/load_weights.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/logging.h"
#include "core/runner/checkpoint.h"
#include "core/runner/name_list.h"

namespace osprey {
namespace {

constexpr size_t kListed = 24;  // sizes of three stages of box and mask heads
constexpr size_t kListedInError = 2;
constexpr char kOffset[] = ".conv_offset.";

// "a.conv2_offset.weight" for "a.conv2.conv_offset.weight"; "" for other names.
std::string legacy_name(const std::string& name) {
  const size_t at = name.find(kOffset);
  if (at == std::string::npos) return "";
  return name.substr(0, at) + "_offset." + name.substr(at + sizeof kOffset - 1);
}

// The weights under the names that the model uses.
StateDict with_current_names(const StateDict& weights, Module& model) {
  std::map<std::string, std::string> renamed;
  for (const auto& [name, parameter] : model.named_parameters()) {
    const std::string legacy = legacy_name(name);
    if (!legacy.empty()) renamed[legacy] = name;
  }
  StateDict current;
  for (const auto& [name, tensor] : weights.entries()) {
    const std::string plain = starts_with(name, "module.") ? name.substr(7) : name;
    const auto found = renamed.find(plain);
    current.put(found == renamed.end() ? plain : found->second, tensor);
  }
  return current;
}

void require_finite(const StateDict& weights, const std::string& path) {
  const std::string bad = first_nonfinite(weights);
  if (!bad.empty()) throw UserError(str_cat(path, ": weights already non-finite: ", bad));
}

// EMAHook of mmcv keeps its averages beside the weights, as buffers of the model.
size_t strangers(const std::vector<std::string>& unexpected) {
  return static_cast<size_t>(std::count_if(unexpected.begin(), unexpected.end(), [](const std::string& name) {
    return !starts_with(name, "ema_");
  }));
}

// Sizes one by one while there are few, else the names together and the first as an example.
std::vector<std::string> lines_of(const LoadReport& report, size_t listed) {
  std::vector<std::string> lines;
  const std::vector<std::string>& mismatched = report.mismatched;
  if (mismatched.size() <= listed) {
    for (const std::string& entry : mismatched) lines.push_back("size mismatch for " + entry);
  } else {
    std::vector<std::string> names;
    for (const std::string& entry : mismatched) names.push_back(entry.substr(0, entry.find(':')));
    lines.push_back(str_cat("size mismatch for ", mismatched.size(), " tensors: ", fold_names(names),
                            "; the first is ", mismatched[0]));
  }
  if (!report.unexpected.empty())
    lines.push_back("unexpected key in source state_dict: " + fold_names(report.unexpected));
  if (!report.missing.empty())
    lines.push_back("missing keys in source state_dict: " + fold_names(report.missing));
  return lines;
}

void warn(const LoadReport& report, const std::string& path) {
  if (!report.clean()) log_warning(path + ": " + describe_mismatch(report));
}

}  // namespace

LoadReport match_weights(Module& model, const StateDict& weights) {
  LoadReport report = model.load_state_dict(with_current_names(weights, model));
  const auto is_counter = [](const std::string& name) { return ends_with(name, "num_batches_tracked"); };
  std::erase_if(report.unexpected, is_counter);
  std::erase_if(report.missing, is_counter);
  return report;
}

std::string describe_mismatch(const LoadReport& report) {
  if (report.clean()) return "";
  return "the model and loaded state dict do not match exactly\n" + join(lines_of(report, kListed), "\n");
}

std::string summarise_mismatch(const LoadReport& report) {
  return join(lines_of(report, kListedInError), "; ");
}

void load_weights(Module& model, const StateDict& weights, const std::string& path) {
  require_finite(weights, path);
  const LoadReport report = match_weights(model, weights);
  if (report.unexpected.size() + report.mismatched.size() >= weights.size() && weights.size() > 0) {
    throw UserError(str_cat(path, ": none of its ", weights.size(), " tensors fits this model (first: '",
                            weights.entries()[0].first, "')"));
  }
  warn(report, path);
}

void load_weights_to_test(Module& model, const StateDict& weights, const std::string& path) {
  require_finite(weights, path);
  const LoadReport report = match_weights(model, weights);
  const size_t wanted = model.named_parameters().size(), offered = weights.size();
  const size_t missing = report.missing.size(), unexpected = strangers(report.unexpected);
  if (!report.mismatched.empty() || 4 * missing > wanted || 4 * unexpected > offered) {
    throw UserError(
        str_cat(path, ": this is a checkpoint of another model (", wanted - std::min(missing, wanted),
                " of the model's ", wanted, " weights are in it, ", report.mismatched.size(),
                " of another size); its metrics would mean nothing: ", summarise_mismatch(report)));
  }
  warn(report, path);
}

}  // namespace osprey
