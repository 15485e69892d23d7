#include "core/runner/checkpoint_meta.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace osprey {
namespace {

using Json = nlohmann::ordered_json;

Json option_value(const GroupOption& option) {
  if (option.flag) return option.values.at(0) != 0;
  return option.values.size() == 1 ? Json(option.values[0]) : Json(option.values);
}

Json groups_json(const std::vector<ParamGroupRecord>& groups) {
  Json all = Json::array();
  for (const ParamGroupRecord& group : groups) {
    Json json;
    for (const GroupOption& option : group.options) json[option.name] = option_value(option);
    json["params"] = group.params;
    all.push_back(std::move(json));
  }
  return all;
}

GroupOption parse_option(const std::string& name, const Json& value) {
  if (value.is_boolean()) return {name, {value.get<bool>() ? 1.0 : 0.0}, true};
  if (value.is_array()) return {name, value.get<std::vector<double>>(), false};
  return {name, {value.get<double>()}, false};
}

std::vector<ParamGroupRecord> parse_groups(const Json& json) {
  std::vector<ParamGroupRecord> groups;
  for (const Json& item : json) {
    ParamGroupRecord group;
    for (const auto& [name, value] : item.items()) {
      if (name == "params") {
        group.params = value.get<std::vector<std::string>>();
      } else {
        group.options.push_back(parse_option(name, value));
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

// nlohmann turns 1.5 and true into integers without a word.
int64_t integer(const std::string& path, const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) return 0;
  if (!found->is_number_integer())
    throw UserError(str_cat(path, ": the checkpoint's meta data is damaged: ", key, " is ", found->dump()));
  return found->get<int64_t>();
}

}  // namespace

void check_counters(const std::string& path, int64_t epoch, int64_t iter) {
  if (epoch >= 0 && iter >= 0) return;
  throw UserError(str_cat(path, ": the checkpoint's meta data is damaged: epoch ", epoch, ", iter ", iter));
}

std::string meta_text(const CheckpointMeta& meta, const std::vector<ParamGroupRecord>& groups,
                      const std::string& hook_states) {
  Json json = Json::object();
  if (meta.recorded) json = {{"epoch", meta.epoch}, {"iter", meta.iter}, {"seed", meta.seed}};
  json.update(Json{{"exp_name", meta.exp_name},
                   {"CLASSES", meta.classes},
                   {"osprey_version", meta.version},
                   {"time", meta.time},
                   {"num_threads", meta.num_threads},
                   {"device", meta.device},
                   {"hooks", Json::parse(hook_states)},
                   {"config", meta.config}});
  if (meta.world_size > 0) json["world_size"] = meta.world_size;
  if (!groups.empty()) json["param_groups"] = groups_json(groups);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

CheckpointMeta parse_meta(const std::string& path, const std::string& text,
                          std::vector<ParamGroupRecord>* groups) {
  CheckpointMeta meta;
  try {
    const Json json = Json::parse(text);
    meta.epoch = integer(path, json, "epoch");
    meta.iter = integer(path, json, "iter");
    check_counters(path, meta.epoch, meta.iter);
    meta.recorded = json.contains("epoch") && json.contains("iter");
    meta.seed = json.value("seed", uint64_t{0});
    meta.exp_name = json.value("exp_name", "");
    meta.classes = json.value("CLASSES", std::vector<std::string>{});
    meta.version = json.value("osprey_version", "");
    meta.time = json.value("time", "");
    meta.num_threads = json.value("num_threads", 0);
    meta.device = json.value("device", "cpu");
    meta.world_size = json.value("world_size", 0);
    meta.config = json.value("config", "");
    if (groups && json.contains("param_groups")) *groups = parse_groups(json["param_groups"]);
  } catch (const Json::exception& error) {
    throw UserError(str_cat(path, ": the checkpoint's meta data cannot be read: ", error.what()));
  }
  return meta;
}

}  // namespace osprey
