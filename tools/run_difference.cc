#include "tools/run_difference.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Facts = std::vector<std::pair<std::string, std::string>>;

constexpr char kNone[] = "(none)";

// --- Reading.

fs::path newest(const fs::path& folder, const std::string& ending) {
  fs::path found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (entry.is_regular_file() && ends_with(name, ending) && name > found.filename().string())
      found = entry.path();  // their names begin with the time
  }
  if (error) throw UserError(str_cat(folder.string(), ": ", error.message()));
  if (found.empty()) throw UserError(str_cat(folder.string(), ": no run was logged here (*", ending, ")"));
  return found;
}

Json first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw UserError(path.string() + ":1: is no JSON object; give a run's work dir");
  return json;
}

Facts facts_of(const Json& head) {
  Facts facts;
  for (const std::string& line : split(head.value("env_info", ""), '\n')) {
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) facts.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  for (const char* key : {"device", "precision", "seed"}) {
    if (head.contains(key))
      facts.emplace_back(key, head[key].is_string() ? head[key].get<std::string>() : head[key].dump());
  }
  return facts;
}

// The run's config as it was trained, beside its log; the log's own copy when the file is gone.
ConfigNode config_of(const fs::path& folder, const Json& head) {
  const fs::path file = folder / fs::path(head.value("exp_name", "")).replace_extension(".yaml");
  if (fs::is_regular_file(file)) return load_config(file);
  return parse_config(head.value("config", "{}"), (folder / "config in the log").string());
}

// --- Configs.

struct Leaf {
  std::string text, place;
};

void collect(const ConfigNode& node, std::map<std::string, Leaf>& leaves) {
  if (node.is_map() && node.size() > 0) {
    for (const std::string& key : node.keys()) collect(node[key], leaves);
  } else if (node.is_list() && node.size() > 0) {
    for (const ConfigNode& item : node.items()) collect(item, leaves);
  } else {
    std::string text = node.to_yaml();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    const ConfigOrigin& origin = node.origin();
    leaves[node.path()] = {text, origin.line == 0 ? origin.file : str_cat(origin.file, ":", origin.line)};
  }
}

std::string shown(const std::map<std::string, Leaf>& leaves, const std::string& path) {
  const auto leaf = leaves.find(path);
  return leaf == leaves.end() ? kNone : str_cat(leaf->second.text, " (", leaf->second.place, ")");
}

// --- Logs.

bool counts(const std::string& key) {
  return key != "time" && key != "data_time" && key != "memory" && key != "epoch" && key != "iter";
}

std::string digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string value_text(const LogLine& line, const std::string& key) {
  const auto found = line.values.find(key);
  return found == line.values.end() ? kNone : digits(found->second);
}

std::string place_in_log(const LogLine& line) {
  return str_cat(line.mode, " epoch ", line.epoch, " iter ", line.iter);
}

// "  loss: 1.5 | 1.6" for every value of two lines that differs.
std::string value_differences(const LogLine& a, const LogLine& b) {
  std::set<std::string> keys;
  for (const LogLine* line : {&a, &b}) {
    for (const auto& [key, value] : line->values) keys.insert(key);
  }
  std::string text;
  for (const std::string& key : keys) {
    const std::string in_a = value_text(a, key), in_b = value_text(b, key);
    if (counts(key) && in_a != in_b) text += "  " + key + ": " + in_a + " | " + in_b + "\n";
  }
  return text;
}

}  // namespace

RunFolder read_run(const std::string& work_dir) {
  RunFolder run;
  run.path = work_dir;
  const fs::path log = newest(work_dir, ".log.json");
  const Json head = first_line(log);
  run.facts = facts_of(head);
  run.config = config_of(work_dir, head);
  run.log = read_json_log(log);
  return run;
}

std::string config_differences(const RunFolder& a, const RunFolder& b) {
  std::map<std::string, Leaf> in_a, in_b;
  collect(a.config, in_a);
  collect(b.config, in_b);
  std::set<std::string> paths;
  for (const auto* leaves : {&in_a, &in_b}) {
    for (const auto& [path, leaf] : *leaves) paths.insert(path);
  }
  std::string text;
  for (const std::string& path : paths) {
    const auto first = in_a.find(path), second = in_b.find(path);
    const bool same =
        first != in_a.end() && second != in_b.end() && first->second.text == second->second.text;
    if (!same) text += str_cat("  ", path, ": ", shown(in_a, path), " | ", shown(in_b, path), "\n");
  }
  return text;
}

std::string fact_differences(const RunFolder& a, const RunFolder& b) {
  const auto value_in = [](const Facts& facts, const std::string& name) -> std::string {
    for (const auto& [key, value] : facts) {
      if (key == name) return value;
    }
    return kNone;
  };
  std::string text;
  std::set<std::string> done;
  for (const Facts* facts : {&a.facts, &b.facts}) {
    for (const auto& [name, value] : *facts) {
      const std::string in_a = value_in(a.facts, name), in_b = value_in(b.facts, name);
      if (done.insert(name).second && in_a != in_b) text += "  " + name + ": " + in_a + " | " + in_b + "\n";
    }
  }
  return text;
}

std::string first_log_difference(const RunFolder& a, const RunFolder& b) {
  const size_t common = std::min(a.log.size(), b.log.size());
  for (size_t i = 0; i < common; ++i) {
    const std::string here = place_in_log(a.log[i]), there = place_in_log(b.log[i]);
    if (here != there) return str_cat("  the logs part: ", here, " | ", there, "\n");
    const std::string values = value_differences(a.log[i], b.log[i]);
    if (!values.empty()) return "  " + here + "\n" + values;
  }
  if (a.log.size() == b.log.size()) return "";
  return str_cat("  equal as far as both go (", common, " lines), but one has ", a.log.size(),
                 " lines, the other ", b.log.size(), "\n");
}

}  // namespace osprey
