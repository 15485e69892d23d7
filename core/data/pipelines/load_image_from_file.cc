#include <map>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "core/data/pipelines/image_io.h"
#include "core/data/pipelines/transform.h"

namespace osprey {
namespace {

// mmcv's names. 'color' and 'grayscale' turn the image as its EXIF orientation says.
const std::map<std::string, int>& imread_flags() {
  static const std::map<std::string, int> flags = {
      {"color", cv::IMREAD_COLOR},
      {"grayscale", cv::IMREAD_GRAYSCALE},
      {"unchanged", cv::IMREAD_UNCHANGED},
      {"color_ignore_orientation", cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION},
      {"grayscale_ignore_orientation", cv::IMREAD_GRAYSCALE | cv::IMREAD_IGNORE_ORIENTATION}};
  return flags;
}

std::vector<std::string> color_types() {
  std::vector<std::string> names;
  for (const auto& [name, flag] : imread_flags()) names.push_back(name);
  return names;
}

// The network takes three channels of bytes; a grey image is repeated three times.
cv::Mat three_channels(const cv::Mat& image, const std::string& filename) {
  if (image.depth() != CV_8U) throw SampleError(filename, "has more than 8 bits a channel");
  if (image.channels() == 3) return image;
  if (image.channels() != 1) {
    throw SampleError(filename,
                      str_cat("has ", image.channels(), " channels; color_type: color drops alpha"));
  }
  cv::Mat color;
  cv::cvtColor(image, color, cv::COLOR_GRAY2BGR);
  return color;
}

// Starts a sample: the image as BGR pixels and its first meta data.
class LoadImageFromFile final : public Transform {
 public:
  explicit LoadImageFromFile(const ConfigNode& cfg)
      : to_float32_(cfg.get("to_float32", false)),
        flags_(imread_flags().at(cfg.choice("color_type", "color", color_types()))) {
    const ConfigNode file_client = cfg.find("file_client_args");
    if (!file_client.is_null()) file_client.choice("backend", "disk", {"disk"});
  }

  bool apply(Sample& sample, CounterRng&) const override {
    const SampleSource& source = *sample.source;
    sample.img = source.image.empty() ? load(source) : source.image.clone();
    if (to_float32_) sample.img.convertTo(sample.img, CV_32F);
    sample.meta.filename = source.filename;
    sample.meta.image_id = source.image_id;
    sample.meta.ori_shape = {sample.img.rows, sample.img.cols};
    sample.meta.img_shape = sample.meta.pad_shape = sample.meta.ori_shape;
    return true;
  }

  void check_keys(SampleKeys& keys, const ConfigNode&) const override { keys.insert("img"); }

 private:
  cv::Mat load(const SampleSource& source) const {
    const cv::Mat image = three_channels(read_image(source.filename, flags_), source.filename);
    if (source.h > 0 && source.w > 0 && (image.rows != source.h || image.cols != source.w)) {
      throw SampleError(source.filename,
                        str_cat("has ", image.cols, "x", image.rows, " pixels, but its annotation file says ",
                                source.w, "x", source.h,
                                "; where an EXIF orientation is the cause, color_type: "
                                "color_ignore_orientation leaves the image as it is stored"));
    }
    return image;
  }

  bool to_float32_;
  int flags_;
};

}  // namespace

OSPREY_REGISTER(Transform, LoadImageFromFile);

}  // namespace osprey
