#include "core/data/coco_file.h"

#include <cmath>

#include "tests/core/data/data_files.h"

namespace osprey {
namespace {

using testing::coco_annotation;
using testing::coco_image;
using testing::coco_json;
using testing::Folder;
using testing::user_error_of;

class CocoFileTest : public ::testing::Test {
 protected:
  CocoFile load(const std::string& json) const {
    folder_.write("a.json", json);
    return load_coco_file(folder_ / "a.json");
  }
  std::string error_of(const std::string& json) const {
    return user_error_of([&] { load(json); });
  }
  CocoAnnotation annotation(const std::string& more, const std::string& bbox = "[1, 2, 3, 4]") const {
    return load(coco_json(coco_image(1, "a.jpg"), coco_annotation(5, 1, 3, bbox, more))).annotations.at(0);
  }

  const Folder folder_;
};

TEST_F(CocoFileTest, ReadsEveryKindOfSegmentation) {
  const CocoAnnotation polygons =
      annotation(R"(, "segmentation": [[1, 2, 3, 4, 5, 6.5], [1, 2, 3, 4], [1, 2, 3, 4, 5, 6, 7]])");
  ASSERT_EQ(polygons.segmentation.polygons.size(), 1u);  // the others have too few or odd numbers
  EXPECT_EQ(polygons.segmentation.polygons[0], (std::vector<double>{1, 2, 3, 4, 5, 6.5}));
  EXPECT_EQ(polygons.segmentation.h, 48);

  const CocoAnnotation counts =
      annotation(R"(, "segmentation": {"size": [48, 64], "counts": [10, 5, 3057]})");
  EXPECT_DOUBLE_EQ(area(counts.segmentation), 5);
  const CocoAnnotation text = annotation(str_cat(R"(, "segmentation": {"size": [48, 64], "counts": ")",
                                                 to_string(counts.segmentation.rle), R"("})"));
  EXPECT_EQ(text.segmentation.rle.counts, counts.segmentation.rle.counts);
  EXPECT_EQ(annotation("").segmentation.h, 0);
}

TEST_F(CocoFileTest, ReadsWhatPythonWritesForNonFiniteNumbers) {
  const CocoAnnotation nan = annotation(R"(, "note": "NaN stays")", "[NaN, 2, -Infinity, 4]");
  EXPECT_TRUE(std::isnan(nan.bbox[0]));
  EXPECT_EQ(nan.bbox[1], 2);
  EXPECT_TRUE(std::isnan(nan.bbox[2]));
}

TEST_F(CocoFileTest, NamesThePlaceOfASyntaxError) {
  const std::string message = error_of("{\n  \"images\": [,]\n}");
  EXPECT_EQ(message.rfind(folder_ / "a.json" + ":2:14 (byte 15): syntax error", 0), 0u) << message;
  EXPECT_NE(error_of("").find("a.json:1:1"), std::string::npos);
  EXPECT_NE(error_of(coco_json(coco_image(1, "a.jpg"), "").substr(0, 90)).find("unexpected end of input"),
            std::string::npos);
}

TEST_F(CocoFileTest, NamesValuesOfTheWrongKind) {
  const auto check = [&](const std::string& images, const std::string& annotations,
                         const std::string& expected) {
    const std::string message = error_of(coco_json(images, annotations));
    EXPECT_NE(message.find(expected), std::string::npos) << message << "\nexpected " << expected;
  };
  const std::string image = coco_image(1, "a.jpg");
  check(R"({"id": "one", "file_name": "a.jpg", "width": 4, "height": 4})", "",
        "images[0].id: must be an integer, got a string");
  check(R"({"id": 1, "width": 4, "height": 4})", "", "images[0].file_name: is missing");
  check(R"({"id": 1, "file_name": "a.jpg", "width": 0, "height": 4})", "", "an image of 0x4 pixels");
  check(image, coco_annotation(1, 1, 3, "[1, 2, 3]"),
        "annotations[0].bbox: must be [x, y, width, height], got 3");
  check(image, coco_annotation(1, 1, 3, "[1, 2, 3, \"4\"]"),
        "annotations[0].bbox: must be a number, got a string");
  check(image, coco_annotation(1, 1, 3, "7"), "annotations[0].bbox: must be a list of numbers, got a number");
  check(image,
        coco_annotation(1, 1, 3, "[1, 2, 3, 4]", R"(, "segmentation": {"size": [48, 64], "counts": [7]})"),
        "annotations[0].segmentation");
  check(image,
        coco_annotation(1, 1, 3, "[1, 2, 3, 4]", R"(, "segmentation": {"size": [2, 2], "counts": [4]})"),
        "segmentation of 2x2 for image a.jpg of 64x48 pixels");
  check("7", "", "images[0]: must be an object, got a number");
  EXPECT_NE(error_of("[]").find("must be an object, got a list"), std::string::npos);
  EXPECT_NE(error_of("{}").find("has no 'categories'"), std::string::npos);
}

TEST_F(CocoFileTest, CountsAnImageThatIsListedTwiceOnce) {
  const CocoFile file = load(
      coco_json(coco_image(1, "a.jpg") + "," + coco_image(1, "b.jpg"),
                coco_annotation(1, 1, 3, "[1, 2, 3, 4]") + "," + coco_annotation(2, 9, 3, "[1, 2, 3, 4]")));
  ASSERT_EQ(file.images.size(), 1u);
  EXPECT_EQ(file.images[0].file_name, "a.jpg");
  EXPECT_EQ(file.images[0].annotations, std::vector<size_t>{0});  // the other one has no image
}

}  // namespace
}  // namespace osprey
