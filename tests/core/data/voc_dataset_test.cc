#include "core/data/voc_dataset.h"

#include <gtest/gtest.h>

#include "tests/core/data/data_files.h"

namespace osprey {
namespace {

using testing::Folder;
using testing::user_error_of;

std::string object(const std::string& name, const std::string& box, const std::string& more = "") {
  return "<object><name>" + name + "</name>" + more + "<bndbox>" + box + "</bndbox>" +
         "<part><name>head</name><bndbox><xmin>1</xmin></bndbox></part></object>";
}
std::string corners(const std::string& xmin, const std::string& ymin, const std::string& xmax,
                    const std::string& ymax) {
  return "<xmin>" + xmin + "</xmin><ymin>" + ymin + "</ymin><xmax>" + xmax + "</xmax><ymax>" + ymax +
         "</ymax>";
}
std::string xml(const std::string& objects,
                const std::string& size = "<width>64</width><height>48</height>") {
  return "<annotation>\n<size>" + size + "</size>\n" + objects + "\n<objects/></annotation>\n";
}

class VOCDatasetTest : public ::testing::Test {
 protected:
  VOCDatasetTest() {
    for (const char* id : {"a", "b", "c"})
      folder_.write_image(str_cat("VOC2007/JPEGImages/", id, ".jpg"), 64, 48);
    folder_.write("VOC2007/ids.txt", "a\nb\nc\n");
    annotate("a", xml(object("dog", corners("11", "6", "31", "26")) +
                      object("cat", corners("41.9", "1", "64", "48"), "<difficult>1</difficult>") +
                      object("unicorn", corners("1", "1", "9", "9"))));
    annotate("b", xml(object("unicorn", corners("1", "1", "9", "9"))));
    annotate("c",
             xml(object("cat", corners("5", "5", "25", "45")) + object("cat", corners("9", "9", "9", "20"))));
  }
  void annotate(const std::string& id, const std::string& text) const {
    folder_.write("VOC2007/Annotations/" + id + ".xml", text);
  }
  std::unique_ptr<Dataset> dataset(const std::string& more = "") const {
    return build_dataset(
        parse_config(str_cat("{type: VOCDataset, data_root: ", folder_.path(),
                             ", ann_file: VOC2007/ids.txt, img_prefix: VOC2007/, ", more,
                             "pipeline: [{type: LoadImageFromFile}, {type: LoadAnnotations}, {type: Collect, "
                             "keys: [img, gt_bboxes, gt_labels]}]}")));
  }
  static Sample sample(const Dataset& dataset, int64_t index) {
    CounterRng rng(0);
    return dataset.get(index, rng).at(0);
  }

  const Folder folder_;
};

TEST_F(VOCDatasetTest, BoxesBeginAtZeroAndDifficultOnesAreIgnored) {
  const auto data = dataset();
  ASSERT_EQ(data->size(), 2);  // b has no object of the classes
  const Sample first = sample(*data, 0);
  EXPECT_EQ(first.gt_bboxes, (std::vector<BBox>{{10, 5, 30, 25}}));
  EXPECT_EQ(first.gt_labels, std::vector<int64_t>{11});                     // dog
  EXPECT_EQ(first.gt_bboxes_ignore, (std::vector<BBox>{{40, 0, 63, 47}}));  // fractions are cut
  EXPECT_EQ(data->labels(0), (std::vector<int64_t>{7, 11}));
  EXPECT_EQ(sample(*data, 1).gt_bboxes.size(), 1u);  // the other cat has no width
  EXPECT_EQ(data->group(0), 1);
}

TEST_F(VOCDatasetTest, ATestLeavesNoImageOut) {
  EXPECT_EQ(dataset("test_mode: true, ")->size(), 3);
  EXPECT_EQ(dataset("filter_empty_gt: false, ")->size(), 3);
  EXPECT_EQ(dataset("num_images: 1, ")->size(), 1);
}

TEST_F(VOCDatasetTest, SmallObjectsAreIgnoredAndClassesMayBeChosen) {
  const auto data = dataset("min_size: 21, classes: [dog, cat], ");
  EXPECT_TRUE(sample(*data, 0).gt_bboxes.empty());
  EXPECT_EQ(sample(*data, 0).gt_bboxes_ignore.size(), 2u);
  EXPECT_EQ(data->classes(), (std::vector<std::string>{"dog", "cat"}));
}

TEST_F(VOCDatasetTest, TheImageTellsItsSizeWhereTheFileDoesNot) {
  annotate("a", xml(object("dog", corners("11", "6", "31", "26")), ""));
  EXPECT_EQ(dataset()->group(0), 1);
}

// Perfect results score 1, one detection on a difficult object neither helps nor hurts, a miss costs its
// class.
TEST_F(VOCDatasetTest, ReportsMmdetectionsKeys) {
  const auto data = dataset("test_mode: true, classes: [dog, cat], ");
  const auto result = [](const std::vector<float>& boxes, const std::vector<int64_t>& labels) {
    const auto n = static_cast<int64_t>(labels.size());
    DetectionResult detections;
    detections.bboxes = Tensor::from(boxes, {n, 4});
    detections.scores = Tensor::full({n}, 0.9, DType::kF32);
    detections.labels = Tensor::from(labels, {n});
    return detections;
  };
  EvalOptions options;
  options.metrics = {"mAP"};
  options.iou_thr = {0.5, 0.75};
  const DetectionResult a = result({10, 5, 30, 25, 40, 0, 63, 47}, {0, 1}), none = result({}, {});
  const EvalReport perfect = data->evaluate({a, none, result({4, 4, 24, 44}, {1})}, options);
  EXPECT_EQ(perfect.metrics,
            (std::vector<std::pair<std::string, double>>{{"AP50", 1}, {"AP75", 1}, {"mAP", 1}}));
  EXPECT_EQ(data->evaluate({a, none, none}, options).metrics.back().second, 0.5);
  EXPECT_NE(perfect.table.find("dog"), std::string::npos) << perfect.table;
}

TEST_F(VOCDatasetTest, MistakesNameFileAndLine) {
  EvalOptions options;
  EXPECT_NE(user_error_of([&] { dataset()->check_options(options); }).find("allowed: mAP"),
            std::string::npos);
  const std::string file = folder_ / "VOC2007/Annotations/a.xml";
  const auto problem = [&](const std::string& text) {
    annotate("a", text);
    return user_error_of([&] { dataset(); });
  };
  EXPECT_EQ(problem("<annotation>\n<object>\n</annotation>").find(file + ":3: broken XML: "), 0u);
  EXPECT_EQ(problem(xml(object("dog", "<xmin>1</xmin>"))),
            file + ":3: the <object> 'dog' has no <bndbox> with xmin, ymin, xmax, ymax");
  EXPECT_EQ(problem(xml(object("dog", corners("one", "6", "31", "26")))), file + ":3: 'one' is no number");
  EXPECT_EQ(problem("").find(file + ":1: broken XML"), 0u);
  std::filesystem::remove(file);
  EXPECT_NE(user_error_of([&] { dataset(); }).find(file), std::string::npos);
}

}  // namespace
}  // namespace osprey
