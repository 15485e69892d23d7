#include "models/pretrained.h"

#include <cstdlib>
#include <filesystem>
#include <map>

#include "core/base/logging.h"
#include "core/io/download.h"
#include "core/nn/batch_norm2d.h"
#include "core/runner/checkpoint.h"
#include "core/runner/load_weights.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;

// torchvision's and mmcv's model zoos, as far as mmdetection's configs name them. The digits are checksums.
const std::map<std::string, std::string>& model_zoo() {
  static const std::string torch = "https://download.pytorch.org/models/";
  static const std::string openmmlab = "https://download.openmmlab.com/pretrain/third_party/";
  static const std::map<std::string, std::string> urls = {
      {"torchvision://resnet18", torch + "resnet18-f37072fd.pth"},
      {"torchvision://resnet34", torch + "resnet34-b627a593.pth"},
      {"torchvision://resnet50", torch + "resnet50-0676ba61.pth"},
      {"torchvision://resnet101", torch + "resnet101-63fe2227.pth"},
      {"torchvision://resnet152", torch + "resnet152-394f9c45.pth"},
      {"open-mmlab://detectron2/resnet50_caffe", openmmlab + "resnet50_msra-5891d200.pth"},
      {"open-mmlab://detectron2/resnet101_caffe", openmmlab + "resnet101_msra-6cc46731.pth"},
      {"open-mmlab://resnext101_32x4d", openmmlab + "resnext101_32x4d-a5af3160.pth"},
      {"open-mmlab://resnext101_64x4d", openmmlab + "resnext101_64x4d-ee2c6f71.pth"},
  };
  return urls;
}

bool is_url(const std::string& name) { return starts_with(name, "http://") || starts_with(name, "https://"); }

// The URL behind a name; "" for a plain path.
std::string url_of(const std::string& name) {
  if (is_url(name)) return name;
  const auto known = model_zoo().find(name);
  if (known != model_zoo().end()) return known->second;
  if (name.find("://") == std::string::npos) return "";
  std::vector<std::string> names;
  for (const auto& [zoo_name, url] : model_zoo()) names.push_back(zoo_name);
  throw UserError(
      str_cat("unknown model '", name, "'; known: ", join(names), "; or give a path or an http(s) URL"));
}

// The part of a checkpoint that belongs to the module, under the module's names.
StateDict part_of(const StateDict& all, const std::string& prefix) {
  StateDict part;
  for (const auto& [name, tensor] : all.entries()) {
    if (starts_with(name, prefix)) part.put(name.substr(prefix.size()), tensor);
  }
  return part;
}

bool has_prefix(const StateDict& state, const std::string& prefix) {
  for (const auto& [name, tensor] : state.entries()) {
    if (starts_with(name, prefix)) return true;
  }
  return false;
}

// The overrides that make a backbone start from nothing, for the key that names its checkpoint:
// "model.pretrained", "model.neck.rfp_backbone.pretrained" or "model.backbone.init_cfg.checkpoint".
std::string from_scratch(const std::string& key) {
  const bool init_cfg = ends_with(key, ".init_cfg.checkpoint");
  const std::string name = init_cfg ? key.substr(0, key.rfind('.')) : key;
  const std::string owner = name.substr(0, name.rfind('.'));
  const std::string backbone = owner == "model" ? "model.backbone" : owner;
  return str_cat(name, "=null ", backbone, ".frozen_stages=-1 ", backbone, ".norm_eval=false");
}

}  // namespace

std::string checkpoint_folder() {
  if (const char* home = std::getenv("OSPREY_HOME")) return (fs::path(home) / "checkpoints").string();
  if (const char* cache = std::getenv("XDG_CACHE_HOME"))
    return (fs::path(cache) / "osprey/checkpoints").string();
  const char* home = std::getenv("HOME");
  return (fs::path(home ? home : ".") / ".cache/osprey/checkpoints").string();
}

std::string resolve_checkpoint(const std::string& name) {
  if (fs::exists(name)) return name;
  const std::string url = url_of(name);
  const fs::path cached = fs::path(checkpoint_folder()) / fs::path(url.empty() ? name : url).filename();
  if (fs::exists(cached)) return cached.string();
  std::string reason = "there is no such file, and none in " + checkpoint_folder();
  if (!url.empty()) {
    log_info("downloading " + url + " to " + cached.string());
    reason = download(url, cached.string());
    if (reason.empty()) return cached.string();
    reason = "downloading " + url + " failed (" + reason + "); put the file at " + cached.string();
  }
  throw UserError(str_cat("cannot load '", name, "': ", reason));
}

std::string resolve_checkpoint(const ConfigNode& node) {
  try {
    return resolve_checkpoint(node.as<std::string>());
  } catch (const UserError& error) {
    node.fail(
        str_cat(error.what(), ", or train from scratch with --cfg-options ", from_scratch(node.path())));
  }
}

void load_pretrained(Module& module, const ConfigNode& node, const std::string& prefix) {
  const std::string path = resolve_checkpoint(node);
  const StateDict all = read_weights(path);
  std::string strip = prefix;
  if (strip.empty() && has_prefix(all, "backbone.")) strip = "backbone";
  if (!strip.empty() && !ends_with(strip, ".")) strip += '.';
  const StateDict part = part_of(all, strip);
  if (part.size() == 0) node.fail(str_cat(path, " holds nothing below '", strip, "'"));
  const LoadReport report = match_weights(module, part);
  if (!report.mismatched.empty()) node.fail(path + " does not fit: " + join(report.mismatched, "; "));
  const size_t wanted = module.named_parameters().size();
  if (report.missing.size() >= wanted) node.fail(path + " holds no weight of this model");
  if (!report.clean()) log_warning(path + ": " + describe_mismatch(report));
}

PretrainedBackbone::PretrainedBackbone(const ConfigNode& detector_cfg)
    : PretrainedBackbone(detector_cfg.find("pretrained"), detector_cfg["backbone"].find("init_cfg")) {}

PretrainedBackbone::PretrainedBackbone(const ConfigNode& pretrained, const ConfigNode& init_cfg)
    : name_(pretrained) {
  checkpoint_follows_ = !name_.is_null() && name_.as<std::string>().empty();
  if (checkpoint_follows_) init_cfg.mark_read();
  if (checkpoint_follows_ || init_cfg.is_null()) return;
  if (given()) init_cfg.fail("there is a 'pretrained' too; give one of the two");
  if (!init_cfg.is_map()) init_cfg.fail("must be {type: Pretrained, checkpoint: NAME}");
  init_cfg.choice("type", "", {"Pretrained"});
  name_ = init_cfg["checkpoint"];
  prefix_ = init_cfg.get("prefix", "");
}

void PretrainedBackbone::load_into(Module& module, const std::string& part) const {
  if (!given() || checkpoint_follows_) return;
  const bool nested = !prefix_.empty() && !part.empty();
  load_pretrained(module, name_, nested ? prefix_ + "." + part : prefix_ + part);
}

std::string lint_frozen_at_random(Module& module) {
  int64_t frozen = 0, eval_norms = 0;
  for (const auto& [name, parameter] : module.named_parameters()) frozen += !parameter->requires_grad();
  for (const auto& [name, child] : module.named_modules()) {
    const auto* norm = dynamic_cast<const BatchNorm2d*>(child);
    eval_norms += norm && !norm->training();
  }
  if (frozen + eval_norms == 0) return "";
  return str_cat(
      frozen, " parameters are frozen and ", eval_norms, " batch norms keep their statistics; ",
      "unless load_from or resume_from fills them, they stay as they were drawn: give model.pretrained, ",
      "or set frozen_stages: -1 and norm_eval: false");
}

}  // namespace osprey
