#include "core/data/coco_dataset.h"

#include <limits>

#include "core/data/coco_annotation_filter.h"
#include "core/data/sample.h"
#include "tests/core/data/data_files.h"

namespace osprey {
namespace {

using testing::coco_annotation;
using testing::coco_image;
using testing::coco_json;
using testing::Folder;
using testing::kTrainPipeline;
using testing::user_error_of;

constexpr char kMaskPipeline[] =
    "[{type: LoadImageFromFile}, {type: LoadAnnotations, with_mask: true}, {type: Collect, keys: [img, "
    "gt_bboxes, "
    "gt_masks]}]";
constexpr char kSegPipeline[] =
    "[{type: LoadImageFromFile}, {type: LoadAnnotations, with_seg: true}, {type: Collect, keys: [img, "
    "gt_semantic_seg]}]";

class CocoDatasetTest : public ::testing::Test {
 protected:
  CocoDatasetTest() {
    for (const char* name : {"img/a.jpg", "img/b.jpg", "img/c.jpg"}) folder_.write_image(name, 64, 48);
  }
  ConfigNode config(const std::string& more, const std::string& pipeline = kTrainPipeline) const {
    return parse_config(str_cat("type: CocoDataset\nann_file: a.json\nimg_prefix: img\ndata_root: ",
                                folder_.path(), "\npipeline: ", pipeline, "\n", more, "\n"),
                        "c.yaml");
  }
  std::unique_ptr<Dataset> dataset(const std::string& images, const std::string& annotations,
                                   const std::string& more = "classes: [cat, dog]",
                                   const std::string& pipeline = kTrainPipeline) const {
    folder_.write("a.json", coco_json(images, annotations));
    return build_dataset(config(more, pipeline));
  }
  static Sample sample(const Dataset& dataset, int64_t index) {
    CounterRng rng(1);
    return std::move(dataset.get(index, rng).at(0));
  }

  const Folder folder_;
  const std::string a_ = coco_image(1, "a.jpg"), b_ = coco_image(2, "b.jpg"), c_ = coco_image(3, "c.jpg");
};

TEST_F(CocoDatasetTest, MapsCategoryIdsToPositionsInClasses) {
  const std::string annotations =
      coco_annotation(1, 1, 7, "[2, 2, 20, 20]") + "," + coco_annotation(2, 1, 3, "[2, 2, 20, 20]");
  EXPECT_EQ(sample(*dataset(a_, annotations), 0).gt_labels, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(sample(*dataset(a_, annotations, "classes: [dog, cat]"), 0).gt_labels,
            (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(sample(*dataset(a_, annotations, "classes: [cat]"), 0).gt_labels, std::vector<int64_t>{0});
}

TEST_F(CocoDatasetTest, SetsCrowdsApart) {
  const auto data = dataset(
      a_, coco_annotation(1, 1, 3, "[2, 2, 20, 20]") + "," +
              R"({"id": 2, "image_id": 1, "category_id": 3, "bbox": [1, 1, 9, 9], "area": 9, "iscrowd": 1})");
  const Sample loaded = sample(*data, 0);
  EXPECT_EQ(loaded.gt_bboxes.size(), 1u);
  EXPECT_EQ(loaded.gt_bboxes_ignore.size(), 1u);
  EXPECT_EQ(loaded.meta.image_id, 1);
}

TEST_F(CocoDatasetTest, KeepsAnImageWithOnlyCrowdsAndDropsOneWithoutAnnotations) {
  const auto data = dataset(
      a_ + "," + b_ + "," + c_,
      coco_annotation(1, 1, 3, "[2, 2, 20, 20]") + "," +
          R"({"id": 2, "image_id": 2, "category_id": 3, "bbox": [1, 1, 9, 9], "area": 9, "iscrowd": 1})");
  ASSERT_EQ(data->size(), 2);
  EXPECT_TRUE(sample(*data, 1).gt_bboxes.empty());
  const std::string annotation = coco_annotation(1, 1, 3, "[2, 2, 20, 20]");
  EXPECT_EQ(dataset(a_ + "," + b_, annotation, "classes: [cat, dog]\nfilter_empty_gt: false")->size(), 2);
  EXPECT_EQ(dataset(a_ + "," + b_, annotation, "classes: [cat, dog]\ntest_mode: true")->size(), 2);
  EXPECT_EQ(dataset(a_ + "," + b_, annotation, "classes: [cat, dog]\ntest_mode: true\nnum_images: 1")->size(),
            1);
}

TEST_F(CocoDatasetTest, LeavesNothingOutWhenBuiltForATest) {
  folder_.write("a.json", coco_json(a_ + "," + b_, coco_annotation(1, 1, 3, "[2, 2, 20, 20]")));
  const ConfigNode one = config("classes: [cat, dog]");
  EXPECT_EQ(build_dataset(one)->size(), 1);
  EXPECT_EQ(build_test_dataset(one)->size(), 2);
  EXPECT_EQ(build_test_dataset(one.with("ann_file", parse_config("f: [a.json, a.json]")["f"]))->size(), 4);
  const ConfigNode list =
      parse_config(str_cat("l: [", "{type: ConcatDataset, datasets: [{type: CocoDataset, classes: ",
                           "[cat, dog], ann_file: a.json, img_prefix: img, data_root: ", folder_.path(),
                           ", pipeline: ", kTrainPipeline, "}]}]"))["l"];
  EXPECT_EQ(build_dataset(list)->size(), 1);
  EXPECT_EQ(build_test_dataset(list)->size(), 2);
}

TEST_F(CocoDatasetTest, DropsSmallImagesInTrainingOnly) {
  const std::string images = a_ + "," + coco_image(2, "b.jpg", 31, 400);
  const std::string annotations =
      coco_annotation(1, 1, 3, "[2, 2, 20, 20]") + "," + coco_annotation(2, 2, 3, "[2, 2, 20, 20]");
  EXPECT_EQ(dataset(images, annotations)->size(), 1);
  EXPECT_EQ(dataset(images, annotations, "classes: [cat, dog]\ntest_mode: true")->size(), 2);
}

TEST_F(CocoDatasetTest, LeavesOutInvalidBoxesAndSaysWhy) {
  const CocoImage image{1, "a.jpg", 48, 64, {}};
  const auto reason = [&](std::array<double, 4> bbox, double area = 100) {
    CocoAnnotation annotation;
    annotation.bbox = bbox;
    annotation.area = area;
    return invalid_reason(annotation, image);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(reason({2, 2, 20, 20}), "");
  EXPECT_EQ(reason({-5, -5, 10, 10}), "");  // partly outside is fine
  EXPECT_NE(reason({53, 89, -46, 137}).find("has no area"), std::string::npos);
  EXPECT_NE(reason({10, 10, 0, 10}).find("has no area"), std::string::npos);
  EXPECT_NE(reason({10, 10, 0.3, 10}).find("under a pixel"), std::string::npos);
  EXPECT_NE(reason({nan, 10, 10, 10}).find("not finite"), std::string::npos);
  EXPECT_NE(reason({70, 10, 10, 10}).find("outside of the image of 64x48"), std::string::npos);
  EXPECT_NE(reason({10, 10, 10, 10}, 0).find("area 0"), std::string::npos);

  const auto data = dataset(a_, coco_annotation(1, 1, 3, "[2, 2, 20, 20]") + "," +
                                    coco_annotation(2, 1, 3, "[10, 10, 0, 10]") + "," +
                                    coco_annotation(3, 1, 3, "[NaN, 10, 10, 10]"));
  EXPECT_EQ(sample(*data, 0).gt_bboxes.size(), 1u);
}

TEST_F(CocoDatasetTest, NamesMissingFilesWithTheirKeyAndLine) {
  const std::string message = user_error_of([&] { build_dataset(config("classes: [cat]")); });
  EXPECT_EQ(message.rfind("c.yaml:2:", 0), 0u) << message;
  EXPECT_NE(message.find("ann_file: there is no file '" + (folder_ / "a.json") + "'"), std::string::npos)
      << message;
  EXPECT_NE(message.find("data_root"), std::string::npos);

  const std::string folder = user_error_of([&] {
    folder_.write("a.json", coco_json(a_, coco_annotation(1, 1, 3, "[2, 2, 20, 20]")));
    build_dataset(parse_config(str_cat("{type: CocoDataset, classes: [cat], ann_file: ", folder_ / "a.json",
                                       ", img_prefix: no/where, pipeline: ", kTrainPipeline, "}")));
  });
  EXPECT_NE(folder.find("img_prefix: there is no folder 'no/where'"), std::string::npos) << folder;
}

TEST_F(CocoDatasetTest, NamesAMissingImage) {
  const auto data = dataset(coco_image(1, "none.jpg"), coco_annotation(1, 1, 3, "[2, 2, 20, 20]"));
  const std::string message = user_error_of([&] { sample(*data, 0); });
  EXPECT_EQ(message.rfind(folder_ / "img/none.jpg" + ": cannot be opened", 0), 0u) << message;
}

TEST_F(CocoDatasetTest, RefusesAnImageOfAnotherSizeThanAnnotated) {
  const auto data = dataset(coco_image(1, "a.jpg", 48, 64), coco_annotation(1, 1, 3, "[2, 2, 20, 20]"));
  EXPECT_NE(
      user_error_of([&] { sample(*data, 0); }).find("has 64x48 pixels, but its annotation file says 48x64"),
      std::string::npos);
}

TEST_F(CocoDatasetTest, ExplainsClassesThatTheFileDoesNotHave) {
  const std::string annotation = coco_annotation(1, 1, 3, "[2, 2, 20, 20]");
  const std::string message = user_error_of([&] { dataset(a_, annotation, "classes: [kitten]"); });
  EXPECT_NE(message.find("0 of 1 configured classes found in annotation file"), std::string::npos) << message;
  EXPECT_NE(message.find("file has: cat, dog"), std::string::npos) << message;
  EXPECT_EQ(message.rfind("c.yaml:6:", 0), 0u) << message;
  EXPECT_NE(
      user_error_of([&] { dataset(a_, annotation, "classes: cat"); }).find("a list of one class is written"),
      std::string::npos);
  EXPECT_NE(user_error_of([&] { dataset(a_, annotation, "classes: [cat, cat]"); }).find("names 'cat' twice"),
            std::string::npos);
}

TEST_F(CocoDatasetTest, MissingSemanticMapsNameTheTwoWaysOut) {
  const std::string annotation = coco_annotation(1, 1, 3, "[2, 2, 20, 20]");
  for (const char* more : {"classes: [cat]", "classes: [cat]\nseg_prefix: maps"}) {
    const std::string message = user_error_of([&] { dataset(a_, annotation, more, kSegPipeline); });
    EXPECT_NE(message.find("seg_prefix"), std::string::npos) << message;
    EXPECT_NE(message.find("with_seg: false"), std::string::npos) << message;
  }
}

TEST_F(CocoDatasetTest, ReadsTheSemanticMapBesideTheImage) {
  std::filesystem::create_directories(folder_ / "maps");
  cv::imwrite(folder_ / "maps/a.png", cv::Mat(48, 64, CV_8U, cv::Scalar(181)));
  const std::string annotation = coco_annotation(1, 1, 3, "[2, 2, 20, 20]");
  const auto data = dataset(a_, annotation, "classes: [cat]\nseg_prefix: maps", kSegPipeline);
  EXPECT_EQ(sample(*data, 0).gt_semantic_seg.at<uint8_t>(47, 63), 181);
  cv::imwrite(folder_ / "maps/a.png", cv::Mat(47, 64, CV_8U, cv::Scalar(181)));
  EXPECT_NE(user_error_of([&] { sample(*data, 0); }).find("is 64x47, its image 64x48"), std::string::npos);
}

TEST_F(CocoDatasetTest, NamesAnAnnotationWithoutItsMask) {
  const auto data = dataset(a_, coco_annotation(11, 1, 3, "[2, 2, 20, 20]"), "classes: [cat]", kMaskPipeline);
  EXPECT_NE(
      user_error_of([&] { sample(*data, 0); }).find("img/a.jpg: annotation 11 has no usable segmentation"),
      std::string::npos);
}

TEST_F(CocoDatasetTest, RefusesASetThatHasNothingToTrainOn) {
  EXPECT_NE(user_error_of([&] { dataset(a_, "", "classes: [cat]"); }).find("none of the 1 images"),
            std::string::npos);
}

TEST_F(CocoDatasetTest, PerfectResultsHavePerfectMetrics) {
  const std::string square = R"(, "segmentation": [[2, 2, 22, 2, 22, 22, 2, 22]])";
  const auto data = dataset(a_ + "," + b_, coco_annotation(1, 1, 7, "[2, 2, 20, 20]", square) + "," +
                                               coco_annotation(2, 2, 3, "[2, 2, 20, 20]", square));
  std::vector<DetectionResult> results(2);
  for (int i = 0; i < 2; ++i) {
    results[i].bboxes = Tensor::from({2.f, 2.f, 22.f, 22.f}, {1, 4});
    results[i].scores = Tensor::from({0.9f}, {1});
    results[i].labels = Tensor::from({int64_t{1 - i}}, {1});
    results[i].masks = {rasterize({2, 2, 22, 2, 22, 22, 2, 22}, 48, 64)};
    results[i].has_masks = true;
  }
  EvalOptions options;
  options.metrics = {"bbox", "segm"};
  options.jsonfile_prefix = folder_ / "results";
  const EvalReport report = data->evaluate(results, options);
  int perfect = 0;
  for (const auto& [name, value] : report.metrics) {
    if (name == "bbox_mAP" || name == "segm_mAP") {
      EXPECT_DOUBLE_EQ(value, 1) << name;
      ++perfect;
    }
  }
  EXPECT_EQ(perfect, 2);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "results.bbox.json"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "results.segm.json"));
}

TEST_F(CocoDatasetTest, ConcatenatesRepeatsAndBalances) {
  folder_.write("a.json",
                coco_json(a_ + "," + b_ + "," + c_, coco_annotation(1, 1, 3, "[2, 2, 20, 20]") + "," +
                                                        coco_annotation(2, 2, 3, "[2, 2, 20, 20]") + "," +
                                                        coco_annotation(3, 3, 7, "[2, 2, 20, 20]")));
  const ConfigNode one = config("classes: [cat, dog]");
  const auto wrapped = [&](const std::string& yaml) {
    return build_dataset(parse_config(yaml).with("dataset", one));
  };
  const auto repeated = wrapped("{type: RepeatDataset, times: 3}");
  EXPECT_EQ(repeated->size(), 9);
  EXPECT_EQ(sample(*repeated, 4).meta.image_id, 2);
  EXPECT_EQ(sample(*repeated, 4).meta.dataset_index, 4);
  // dog is in a third of the images: factor sqrt(1 / (1/3)) = 1.73, so twice; cat sqrt(1 / (2/3)) = 1.22,
  // twice.
  EXPECT_EQ(wrapped("{type: ClassBalancedDataset, oversample_thr: 1.0}")->size(), 6);
  // At 0.6 only dog is rare: sqrt(0.6 / (1/3)) = 1.34.
  EXPECT_EQ(wrapped("{type: ClassBalancedDataset, oversample_thr: 0.6}")->size(), 4);

  const auto both = build_dataset(one.with("ann_file", parse_config("f: [a.json, a.json]")["f"]));
  EXPECT_EQ(both->size(), 6);
  EXPECT_EQ(sample(*both, 5).meta.image_id, 3);
}

TEST_F(CocoDatasetTest, RegistryHasTheFullList) {
  EXPECT_EQ(Registry<Dataset>::instance().names(),
            (std::vector<std::string>{"ClassBalancedDataset", "CocoDataset", "ConcatDataset", "RepeatDataset",
                                      "ShapesDataset", "VOCDataset"}));
}

}  // namespace
}  // namespace osprey
