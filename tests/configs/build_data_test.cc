#include <algorithm>

#include "core/base/logging.h"
#include "core/data/data_loader.h"
#include "core/data/dataset.h"
#include "tests/configs/shipped_configs.h"
#include "tests/core/config/config_files.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;

// The least that CocoDataset and VOCDataset accept as `data_root`: one image with one box in each split, no
// pixels.
class TinyData {
 public:
  TinyData() : root_(fs::path(::testing::TempDir()) / "osprey_tiny_coco") {
    for (const char* split : {"train2017", "val2017"}) {
      fs::create_directories(root_ / split);
      fs::create_directories(root_ / "stuffthingmaps" / split);
      fs::create_directories(root_ / "annotations");
      std::ofstream(root_ / "annotations" / (std::string("instances_") + split + ".json"))
          << R"({"images": [{"id": 1, "file_name": "1.jpg", "width": 640, "height": 480}],)"
          << R"("annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 10, 50, 50], "area": 2500,)"
          << R"("iscrowd": 0, "segmentation": [[10, 10, 60, 10, 60, 60, 10, 60]]}],)"
          << R"("categories": [{"id": 1, "name": "person"}]})";
    }
    for (const char* year : {"VOC2007", "VOC2012"}) {
      fs::create_directories(root_ / year / "ImageSets/Main");
      fs::create_directories(root_ / year / "Annotations");
      for (const char* split : {"trainval", "test"})
        std::ofstream(root_ / year / "ImageSets/Main" / (std::string(split) + ".txt")) << "1\n";
      std::ofstream(root_ / year / "Annotations/1.xml")
          << "<annotation><size><width>640</width><height>480</height></size><object><name>dog</"
             "name><bndbox><xmin>1</xmin>"
          << "<ymin>1</ymin><xmax>50</xmax><ymax>50</ymax></bndbox></object></annotation>";
    }
  }
  ~TinyData() { fs::remove_all(root_); }
  std::string root() const { return root_.string(); }

 private:
  fs::path root_;
};

class ConfigData : public ::testing::TestWithParam<std::string> {};

TEST_P(ConfigData, BuildsAndEveryKeyIsRead) {
  set_log_level("ERROR");  // it has one class of 80, which is worth a warning
  const TinyData tiny;
  const bool on_disk = load_config(GetParam()).has("data_root");
  const ConfigNode cfg =
      load_config(GetParam(), on_disk ? std::vector<std::string>{"data_root=" + tiny.root()}
                                      : std::vector<std::string>{});
  const ConfigNode data = cfg["data"];
  read_loader_options(data);
  EXPECT_GT(build_dataset(data["train"])->size(), 0);
  EXPECT_GT(build_dataset(data["val"].with("test_mode", true))->size(), 0);
  EXPECT_GT(build_dataset(data["test"].with("test_mode", true))->size(), 0);
  EXPECT_NO_THROW(require_all_read(data));
}

INSTANTIATE_TEST_SUITE_P(Configs, ConfigData, ::testing::ValuesIn(shipped_configs()),
                         [](const auto& info) { return test_name(info.param); });

TEST(ConfigDataErrors, AMissingDataSetNamesFileKeyLineAndWayOut) {
  const ConfigNode cfg = load_config("configs/htc_r50_fp16.yaml", {"data_root=/nowhere"});
  const std::string message = error_of([&] { build_dataset(cfg["data"]["train"]); });
  for (const char* part : {"configs/_base_/datasets/coco_detection.yaml:", "data.train.ann_file",
                           "/nowhere/annotations/instances_train2017.json", "--cfg-options data_root="}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
  }
}

TEST(ConfigDataErrors, AMisspeltKeyOfATransformIsNamed) {
  const ConfigNode cfg =
      load_config("configs/quickstart/htc_r18_fp16_shapes.yaml", {"train_pipeline.3.flip_rato=0.5"});
  build_dataset(cfg["data"]["train"]);
  EXPECT_NE(error_of([&] { require_all_read(cfg["data"]["train"]); }).find("Did you mean"),
            std::string::npos);
}

}  // namespace
}  // namespace osprey
