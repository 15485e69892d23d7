#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/config/config.h"
#include "core/data/dataset.h"

namespace osprey::testing {

// A folder of its own for each test, gone afterwards.
class Folder {
 public:
  Folder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    const char* tmp = std::getenv("TEST_TMPDIR");
    path_ = std::filesystem::path(tmp ? tmp : std::filesystem::temp_directory_path().string()) /
            str_cat("osprey_", test->test_suite_name(), "_", test->name());
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  // A picture with structure, so that no two pixels in a row are equal.
  void write_image(const std::string& name, int w, int h) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    cv::Mat image(h, w, CV_8UC3);
    for (int y = 0; y < h; ++y) {
      for (int x = 0; x < w; ++x) {
        image.at<cv::Vec3b>(y, x) =
            cv::Vec3b(static_cast<uint8_t>(3 * x), static_cast<uint8_t>(5 * y), static_cast<uint8_t>(x * y));
      }
    }
    cv::imwrite((path_ / name).string(), image);
  }
  void truncate(const std::string& name) const {
    std::filesystem::resize_file(path_ / name, std::filesystem::file_size(path_ / name) / 2);
  }

 private:
  std::filesystem::path path_;
};

// What f() says when it throws a UserError; fails the test when it does not throw.
template <typename F>
std::string user_error_of(F&& f) {
  try {
    f();
  } catch (const UserError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no UserError";
  return "";
}

// An annotation file of two categories ("cat" 3, "dog" 7) around the given lists.
inline std::string coco_json(const std::string& images, const std::string& annotations) {
  return str_cat(R"({"categories": [{"id": 3, "name": "cat"}, {"id": 7, "name": "dog"}], "images": [)",
                 images, R"(], "annotations": [)", annotations, "]}");
}
inline std::string coco_image(int id, const std::string& file_name, int w = 64, int h = 48) {
  return str_cat(R"({"id": )", id, R"(, "file_name": ")", file_name, R"(", "width": )", w, R"(, "height": )",
                 h, "}");
}
// `more`: further members, with a comma in front.
inline std::string coco_annotation(int id, int image_id, int category_id, const std::string& bbox,
                                   const std::string& more = "") {
  return str_cat(R"({"id": )", id, R"(, "image_id": )", image_id, R"(, "category_id": )", category_id,
                 R"(, "bbox": )", bbox, R"(, "area": 100, "iscrowd": 0)", more, "}");
}

constexpr char kTrainPipeline[] =
    "[{type: LoadImageFromFile}, {type: LoadAnnotations, with_bbox: true}, {type: Resize, img_scale: [64, "
    "48]}, "
    "{type: RandomFlip, flip_ratio: 0.5}, {type: Normalize, mean: [0, 0, 0], std: [1, 1, 1]}, {type: Pad, "
    "size_divisor: 32}, {type: DefaultFormatBundle}, {type: Collect, keys: [img, gt_bboxes, gt_labels, "
    "gt_bboxes_ignore]}]";

}  // namespace osprey::testing
