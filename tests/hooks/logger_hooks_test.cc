#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/io/event_file.h"
#include "tests/hooks/fake_training.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;
using testing::FakeTraining;

std::vector<nlohmann::json> json_lines(const std::string& work_dir) {
  std::ifstream in(work_dir + "/20260131_224050.log.json");
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  lines.erase(lines.begin());  // the run's meta data
  return lines;
}

// One event of a file, as far as a test needs it: scalars by tag.
struct Event {
  int64_t step = 0;
  std::string version;
  std::map<std::string, float> scalars;
};

// A reader of its own for protocol buffers' wire format: field number -> contents, in order.
std::vector<std::pair<int, std::string>> fields_of(const std::string& message) {
  std::vector<std::pair<int, std::string>> fields;
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(message.at(at++));
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.size()) {
    const uint64_t key = varint();
    const int type = static_cast<int>(key & 7), field = static_cast<int>(key >> 3);
    if (type == 0) {
      const uint64_t value = varint();
      fields.emplace_back(field, std::string(reinterpret_cast<const char*>(&value), 8));
    } else {
      const uint64_t length = type == 1 ? 8 : type == 5 ? 4 : varint();
      fields.emplace_back(field, message.substr(at, length));
      at += length;
    }
  }
  return fields;
}

template <typename T>
T as(const std::string& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::vector<Event> read_events(const std::string& folder) {
  std::ifstream in(fs::directory_iterator(folder)->path(), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::vector<Event> events;
  for (size_t at = 0; at < bytes.size();) {
    const auto length = as<uint64_t>(bytes.substr(at, 8));
    EXPECT_EQ(as<uint32_t>(bytes.substr(at + 8, 4)), masked_crc32c(bytes.data() + at, 8));
    const std::string data = bytes.substr(at + 12, length);
    EXPECT_EQ(as<uint32_t>(bytes.substr(at + 12 + length, 4)), masked_crc32c(data.data(), data.size()));
    at += 16 + length;
    Event event;
    for (const auto& [field, content] : fields_of(data)) {
      if (field == 2) event.step = as<int64_t>(content);
      if (field == 3) event.version = content;
      if (field != 5) continue;
      for (const auto& [value_field, value] : fields_of(content)) {
        std::string tag;
        for (const auto& [part, text] : fields_of(value)) {
          if (part == 1) tag = text;
          if (part == 2) event.scalars[tag] = as<float>(text);
        }
      }
    }
    events.push_back(event);
  }
  return events;
}

// The vectors of RFC 3720, B.4.
TEST(EventFile, ChecksumsAreTheStandardOnes) {
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0').data(), 32), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff').data(), 32), 0x62a8ab43u);
}

TEST(Loggers, TensorboardSeesWhatTheTextDoes) {
  FakeTraining training(
      "runner: {type: EpochBasedRunner, max_epochs: 2}\n"
      "optimizer: {type: SGD, lr: 0.5, momentum: 0.9}\n"
      "momentum_config: {policy: step, step: [1], gamma: 0.5}\n"
      "log_config: {interval: 2, hooks: [{type: TextLoggerHook}, {type: TensorboardLoggerHook}]}\n");
  training.run();
  const auto lines = json_lines(training.work_dir());
  const auto events = read_events(training.work_dir() + "/tf_logs");
  ASSERT_EQ(lines.size(), 4u);
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  for (size_t i = 0; i < lines.size(); ++i) {
    const Event& event = events[i + 1];
    EXPECT_EQ(event.step, static_cast<int64_t>(2 * (i + 1)));
    EXPECT_NEAR(event.scalars.at("train/loss"), lines[i]["loss"].get<double>(), 1e-5);
    EXPECT_FLOAT_EQ(event.scalars.at("learning_rate"), 0.5f);
    EXPECT_FLOAT_EQ(event.scalars.at("momentum"), i < 2 ? 0.9f : 0.45f);
    EXPECT_NEAR(lines[i]["momentum"].get<double>(), event.scalars.at("momentum"), 1e-6);
    EXPECT_EQ(event.scalars.count("train/time"), 0u);
  }
}

// Each logger at its own interval; before, the first one's line hid the other's.
TEST(Loggers, KeepTheirOwnIntervals) {
  FakeTraining training(
      "runner: {type: IterBasedRunner, max_iters: 12}\noptimizer: {type: SGD, lr: 0.5}\n"
      "log_config: {interval: 2, hooks: [{type: TextLoggerHook}, {type: TensorboardLoggerHook, interval: "
      "3}]}\n");
  training.run();
  EXPECT_EQ(json_lines(training.work_dir()).size(), 6u);
  const auto events = read_events(training.work_dir() + "/tf_logs");
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[1].step, 3);
  EXPECT_EQ(events[4].step, 12);
}

TEST(Loggers, TheShortEndOfAnEpochIsLeftOutOrReachesBack) {
  for (const bool ignore_last : {true, false}) {
    FakeTraining training(
        str_cat("runner: {type: EpochBasedRunner, max_epochs: 2}\noptimizer: {type: SGD, lr: 0.5}\n"
                "log_config: {interval: 3, hooks: [{type: TextLoggerHook, ignore_last: ",
                ignore_last ? "true" : "false", "}]}\n"));
    training.run();
    EXPECT_EQ(json_lines(training.work_dir()).size(), ignore_last ? 2u : 4u);
  }
}

// workflow: [[train, 1], [val, 1]]: losses on the validation batches, logged as such by every logger.
TEST(Loggers, ValidationStepsOfTheWorkflowAreLogged) {
  FakeTraining training(
      "runner: {type: EpochBasedRunner, max_epochs: 2}\noptimizer: {type: SGD, lr: 0.01}\n"
      "custom_hooks: [{type: SyncBuffersHook, distributed: false}]\n"
      "log_config: {interval: 4, hooks: [{type: TextLoggerHook}, {type: TensorboardLoggerHook}]}\n");
  testing::FakeSource validation(3);
  training.runner().run({{true, 1, &training.source()}, {false, 1, &validation}});
  const auto lines = json_lines(training.work_dir());
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[1]["mode"], "val");
  EXPECT_EQ(lines[1]["iter"], 3);
  EXPECT_EQ(lines[1]["epoch"], 1);
  EXPECT_TRUE(lines[1]["loss_cls"].is_number());
  const auto events = read_events(training.work_dir() + "/tf_logs");
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[2].step, 4);
  EXPECT_NEAR(events[2].scalars.at("val/loss_cls"), lines[1]["loss_cls"].get<double>(), 1e-5);
}

}  // namespace
}  // namespace osprey
