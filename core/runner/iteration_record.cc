#include "core/runner/iteration_record.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/runner/version.h"

namespace osprey {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

Json number_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double parse_number(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  const std::string text = json.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return text == "-inf" ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

DType parse_precision(const std::string& name) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    if (name == name_of(dtype)) return dtype;
  }
  throw UserError("unknown precision '" + name + "'");
}

Json event_json(const NonFiniteEvent& event) {
  return {{"where", event.where == NonFiniteEvent::Where::kLoss ? "loss" : "gradient"},
          {"names", event.names},
          {"loss_scale", event.loss_scale},
          {"absorbed", event.absorbed}};
}

NonFiniteEvent parse_event(const Json& json) {
  NonFiniteEvent event;
  const bool loss = json.at("where").get<std::string>() == "loss";
  event.where = loss ? NonFiniteEvent::Where::kLoss : NonFiniteEvent::Where::kGradient;
  json.at("names").get_to(event.names);
  json.at("loss_scale").get_to(event.loss_scale);
  json.at("absorbed").get_to(event.absorbed);
  return event;
}

IterationRecord parse(const Json& json, std::vector<FileStamp>& stamps) {
  if (json.at("format").get<int>() != kFormat)
    throw UserError(str_cat("of another version of Osprey (format ", json.at("format").dump(), ")"));
  IterationRecord record;
  record.iter = json.at("iteration").get<int64_t>() - 1;
  json.at("epoch").get_to(record.epoch);
  json.at("seed").get_to(record.seed);
  record.precision = parse_precision(json.at("precision").get<std::string>());
  json.at("keep_fp32").get_to(record.keep_fp32);
  json.at("loss_factor").get_to(record.loss_factor);
  record.lr = parse_number(json.at("lr"));
  json.at("last_committed").get_to(record.last_committed);
  record.event = parse_event(json.at("event"));
  for (const auto& [name, value] : json.at("losses").items())
    record.losses.emplace_back(name, parse_number(value));
  json.at("finding").get_to(record.diagnosis.finding);
  json.at("cure").get_to(record.diagnosis.cure);
  json.at("device").get_to(record.device);
  json.at("num_threads").get_to(record.num_threads);
  json.at("num_ranks").get_to(record.num_ranks);
  json.at("deterministic").get_to(record.deterministic);
  json.at("env_info").get_to(record.env_info);
  for (const auto& [name, stamp] : json.at("files").items()) {
    stamps.push_back({name, stamp.at("bytes").get<uint64_t>(), stamp.at("sha256").get<std::string>()});
  }
  return record;
}

}  // namespace

std::string record_text(const IterationRecord& record, const std::vector<FileStamp>& stamps) {
  Json json = {{"format", kFormat},
               {"osprey", kVersion},
               {"iteration", record.iter + 1},
               {"epoch", record.epoch},
               {"finding", record.diagnosis.finding},
               {"cure", record.diagnosis.cure},
               {"event", event_json(record.event)},
               {"precision", name_of(record.precision)},
               {"keep_fp32", record.keep_fp32},
               {"loss_factor", record.loss_factor},
               {"lr", number_json(record.lr)},
               {"last_committed", record.last_committed},
               {"seed", record.seed},
               {"device", record.device},
               {"num_threads", record.num_threads},
               {"num_ranks", record.num_ranks},
               {"deterministic", record.deterministic},
               {"env_info", record.env_info}};
  json["losses"] = Json::object();
  for (const auto& [name, value] : record.losses) json["losses"][name] = number_json(value);
  for (const FileStamp& stamp : stamps)
    json["files"][stamp.name] = {{"bytes", stamp.bytes}, {"sha256", stamp.sha256}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

IterationRecord parse_record(const std::string& path, const std::string& text,
                             std::vector<FileStamp>& stamps) {
  try {
    return parse(Json::parse(text), stamps);
  } catch (const UserError& error) {
    throw UserError(str_cat(path, ": ", error.what()));
  } catch (const Json::exception& error) {
    throw UserError(str_cat(path, ": is damaged: ", error.what()));
  }
}

}  // namespace osprey
