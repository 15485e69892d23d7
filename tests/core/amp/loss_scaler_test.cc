#include "core/amp/loss_scaler.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/golden.h"

namespace osprey {
namespace {

LossScaler scaler(const std::string& yaml) {
  return LossScaler(parse_config("loss_scale: " + yaml).find("loss_scale"));
}

// Histories of mmcv's LossScaler and torch's GradScaler rule.
TEST(LossScalerGolden, FollowsBothRules) {
  const auto golden = testing::Golden::open("ops/loss_scaler");
  ASSERT_FALSE(golden.json()["cases"].empty());
  for (const auto& item : golden.json()["cases"]) {
    LossScaler s = scaler(item["params"].dump());
    std::set<int64_t> overflows;
    for (const auto& step : item["overflow"]) overflows.insert(step.get<int64_t>());
    size_t segment = 0;
    const auto& after = item["scale_after"];
    for (int64_t i = 0; i < item["steps"].get<int64_t>(); ++i) {
      s.update(overflows.count(i) != 0);
      while (segment + 1 < after.size() && after[segment + 1][0].get<int64_t>() <= i) ++segment;
      ASSERT_EQ(s.scale(), after[segment][1].get<double>()) << item["name"] << " step " << i;
    }
  }
}

TEST(LossScalerGolden, FollowsMmcvStepByStep) {
  const auto golden = testing::Golden::open("optim/optim");
  ASSERT_FALSE(golden.json()["loss_scaler"].empty());
  for (const auto& [name, item] : golden.json()["loss_scaler"].items()) {
    nlohmann::json args = item["args"];
    // mmcv's own defaults; a block without any of its keys means torch's scaler here.
    if (!args.contains("init_scale")) args["init_scale"] = 4294967296.0;
    if (!args.contains("scale_window")) args["scale_window"] = 1000;
    LossScaler s = scaler(args.dump());
    for (const auto& row : item["sequence"]) {  // scale before, overflow, scale after
      ASSERT_EQ(s.scale(), row[0].get<double>()) << name;
      s.update(row[1].get<bool>());
      ASSERT_EQ(s.scale(), row[2].get<double>()) << name;
    }
  }
}

TEST(LossScaler, ReadsEveryForm) {
  EXPECT_EQ(LossScaler(ConfigNode()).scale(), 512);
  EXPECT_EQ(scaler("512.").scale(), 512);
  EXPECT_EQ(scaler("512").scale(), 512);  // mmcv refuses the int
  EXPECT_FALSE(scaler("64").dynamic());
  EXPECT_EQ(scaler("dynamic").scale(), 4294967296.0);
  EXPECT_EQ(scaler("{growth_interval: 10}").scale(), 65536);
  EXPECT_EQ(scaler("{init_scale: 1024, mode: static}").scale(), 1024);
  EXPECT_EQ(scaler("{enabled: false}").scale(), 1);
}

TEST(LossScaler, RejectsWhatItDoesNotUnderstand) {
  for (const char* yaml : {"dynamik", "-1", "0", ".nan", "[512]", "{scale_window: 5, growth_interval: 5}",
                           "{mode: dynamci}", "{min: 8, max: 4}", "{init_scale: -4}"}) {
    EXPECT_THROW(scaler(yaml), UserError) << yaml;
  }
}

TEST(LossScaler, KeepsToItsBounds) {
  LossScaler s = scaler("{init_scale: 64, scale_window: 1, min: 32, max: 128}");
  s.update(true);
  s.update(true);
  EXPECT_EQ(s.scale(), 32);
  EXPECT_TRUE(s.at_minimum());
  for (int i = 0; i < 5; ++i) s.update(false);
  EXPECT_EQ(s.scale(), 128);
}

TEST(LossScaler, HysteresisToleratesOverflows) {
  LossScaler s = scaler("{init_scale: 64, scale_window: 100, hysteresis: 2}");
  s.update(true);
  EXPECT_EQ(s.scale(), 64);
  s.update(true);
  EXPECT_EQ(s.scale(), 32);
}

TEST(LossScaler, ContinuesFromItsState) {
  LossScaler a = scaler("{init_scale: 64, scale_window: 3}"), b = scaler("{init_scale: 64, scale_window: 3}");
  for (int i = 0; i < 5; ++i) a.update(i == 1);
  b.set_state(a.state());
  for (int i = 0; i < 9; ++i) {
    a.update(i == 4);
    b.update(i == 4);
    EXPECT_EQ(a.scale(), b.scale());
  }
}

}  // namespace
}  // namespace osprey
