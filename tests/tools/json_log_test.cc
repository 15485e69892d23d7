#include "tools/json_log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <opencv2/core.hpp>

#include "core/base/error.h"
#include "tools/plot_curves.h"

namespace osprey {
namespace {

// As TextLoggerHook and mmcv write it: the environment, then two epochs of 100 iterations.
class JsonLog : public ::testing::Test {
 protected:
  JsonLog() {
    std::ofstream(path_) << R"({"env_info": "sys.platform: linux", "seed": 1}
{"mode": "train", "epoch": 1, "iter": 50, "lr": 0.01, "time": 9.0, "loss": 3.0, "loss_cls": null}
{"mode": "train", "epoch": 1, "iter": 100, "lr": 0.01, "time": 1.0, "loss": 2.5}
{"mode": "val", "epoch": 1, "iter": 20, "lr": 0.01, "bbox_mAP": 0.1}
{"mode": "train", "epoch": 2, "iter": 50, "lr": 0.01, "time": 5.0, "loss": 2.0}
{"mode": "train", "epoch": 2, "iter": 100, "lr": 0.01, "time": 2.0, "loss": 1.5}
{"mode": "val", "epoch": 2, "iter": 20, "lr": 0.01, "bbox_mAP": 0.3}
)";
  }
  ~JsonLog() override { std::filesystem::remove(path_); }
  const std::string path_ = ::testing::TempDir() + "osprey_example.log.json";
};

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST_F(JsonLog, CurvesRunOverIterationsOrEpochs) {
  const auto log = read_json_log(path_);
  ASSERT_EQ(log.size(), 6u);
  const Curve loss = curve_of(log, "loss", path_), map = curve_of(log, "bbox_mAP", path_);
  EXPECT_EQ(loss.x, (std::vector<double>{50, 100, 150, 200}));
  EXPECT_EQ(loss.y, (std::vector<double>{3, 2.5, 2, 1.5}));
  EXPECT_EQ(map.x, (std::vector<double>{1, 2}));
  EXPECT_EQ(map.y, (std::vector<double>{0.1, 0.3}));
  EXPECT_NE(error_of([&] { curve_of(log, "los", path_); }).find("Did you mean 'loss'?"), std::string::npos);
}

TEST_F(JsonLog, TheDefaultCurveIsOneThatThereIs) {
  EXPECT_EQ(default_key(read_json_log(path_)), "bbox_mAP");
  std::ofstream(path_) << R"({"mode": "train", "epoch": 1, "iter": 50, "loss": 3.0})";
  EXPECT_EQ(default_key(read_json_log(path_)), "loss");
}

// mmdetection leaves out each epoch's first value unless told otherwise.
TEST_F(JsonLog, TimesAreThoseOfMmdetectionsReport) {
  const auto log = read_json_log(path_);
  EXPECT_EQ(train_time_report(log, "x", false),
            "-----Analyze train time of x-----\n"
            "slowest epoch 2, average time is 2.0000\n"
            "fastest epoch 1, average time is 1.0000\n"
            "time std over epochs is 0.5000\n"
            "average iter time: 1.5000 s/iter\n");
  EXPECT_EQ(train_time_report(log, "x", true),
            "-----Analyze train time of x-----\n"
            "slowest epoch 1, average time is 5.0000\n"
            "fastest epoch 2, average time is 3.5000\n"
            "time std over epochs is 0.7500\n"
            "average iter time: 4.2500 s/iter\n");
}

TEST_F(JsonLog, OtherFilesAreRefused) {
  EXPECT_EQ(error_of([] { read_json_log("nowhere.log.json"); }), "nowhere.log.json: no such file");
  std::ofstream(path_) << "{\"env_info\": \"\"}\nEpoch 1\n";
  EXPECT_EQ(error_of([&] { read_json_log(path_); }), path_ + ":2: is no JSON object; give a run's .log.json");
  std::ofstream(path_) << "{\"env_info\": \"\"}\n";
  EXPECT_EQ(error_of([&] { read_json_log(path_); }), path_ + ": holds no line of a training");
}

TEST(PlotCurves, DrawsEachCurveAndSurvivesSinglePointsAndNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const cv::Mat image = plot_curves({{"a", {0, 1, 2}, {0, nan, 1}}, {"b", {0, 1}, {1, 0}}}, "title");
  const cv::Mat flat = plot_curves({{"c", {5}, {2}}}, "");
  EXPECT_EQ(image.size(), flat.size());
  EXPECT_GT(cv::norm(image, flat), 0);
  EXPECT_THROW(plot_curves({{"d", {0}, {nan}}}, ""), Error);
}

}  // namespace
}  // namespace osprey
