#include "core/data/shapes_dataset.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/data/class_names.h"
#include "core/data/shape_painter.h"

namespace osprey {
namespace {

constexpr uint64_t kSizeStream = 0, kSceneStream = 1, kNoiseStream = 2;
constexpr int64_t kMinSide = 32;  // pixels

std::vector<ImgScale> read_sizes(const ConfigNode& cfg) {
  const std::vector<ImgScale> sizes = read_img_scales(cfg["img_scale"]);
  for (const ImgScale& size : sizes) {
    if (std::min(size.w, size.h) < kMinSide) {
      cfg["img_scale"].fail(
          str_cat("shapes need ", kMinSide, " pixels a side, got [", size.w, ", ", size.h, "]"));
    }
  }
  return sizes;
}

SceneOptions read_scene_options(const ConfigNode& cfg) {
  SceneOptions options;
  options.classes = read_classes(cfg, {"circle", "square", "triangle"});
  for (const std::string& name : options.classes) {
    const auto& known = shape_names();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      cfg["classes"].fail(str_cat("unknown shape '", name, "'; there are: ", join(known)));
    }
  }
  options.min_shapes = cfg.get("min_shapes", options.min_shapes, positive());
  options.max_shapes = cfg.get("max_shapes", options.max_shapes, positive());
  if (options.min_shapes > options.max_shapes) cfg.fail("min_shapes must not exceed max_shapes");
  return options;
}

struct VisibleShape {
  BBox box;
  InstanceMask mask;
  int64_t area;
};

VisibleShape visible_shape(const SceneShape& shape, const Rle& visible, const ImgScale& size) {
  const auto [x, y, w, h] = bounding_box(visible);
  VisibleShape out;
  out.box = {static_cast<float>(x), static_cast<float>(y), static_cast<float>(x + w),
             static_cast<float>(y + h)};
  out.area = area(visible);
  out.mask.h = size.h;
  out.mask.w = size.w;
  if (out.area == area(rasterize(shape.outline, size.h, size.w))) {
    out.mask.polygons = {shape.outline};
  } else {
    out.mask.rle = visible;
  }
  return out;
}

std::vector<VisibleShape> visible_shapes(const ShapeScene& scene) {
  const std::vector<Rle> masks = visible_masks(scene);
  std::vector<VisibleShape> shapes;
  for (size_t i = 0; i < masks.size(); ++i)
    shapes.push_back(visible_shape(scene.shapes[i], masks[i], scene.size));
  return shapes;
}

}  // namespace

ShapesDataset::ShapesDataset(const ConfigNode& cfg)
    : CustomDataset(cfg),
      num_images_(cfg.get("num_images", int64_t{1000}, positive())),
      img_scales_(read_sizes(cfg)),
      seed_(cfg.get("seed", int64_t{0}, non_negative())),
      index_offset_(cfg.get("index_offset", int64_t{0}, non_negative())),
      options_(read_scene_options(cfg)) {}

CounterRng ShapesDataset::rng_of(int64_t index, uint64_t purpose) const {
  return CounterRng(static_cast<uint64_t>(seed_), purpose, static_cast<uint64_t>(index_offset_ + index));
}

ImgScale ShapesDataset::size_of(int64_t index) const {
  CounterRng rng = rng_of(index, kSizeStream);
  return img_scales_[rng.randint(static_cast<int64_t>(img_scales_.size()))];
}

ShapeScene ShapesDataset::scene(int64_t index) const {
  CounterRng rng = rng_of(index, kSceneStream);
  return make_scene(options_, size_of(index), rng);
}

int ShapesDataset::group(int64_t index) const {
  const ImgScale size = size_of(index);
  return size.w > size.h ? 1 : 0;
}

std::vector<int64_t> ShapesDataset::labels(int64_t index) const {
  std::set<int64_t> labels;
  for (const SceneShape& shape : scene(index).shapes) labels.insert(shape.label);
  return {labels.begin(), labels.end()};
}

SampleSource ShapesDataset::source(int64_t index) const {
  const ShapeScene scene = this->scene(index);
  SampleSource source;
  source.filename = str_cat("shapes/", index_offset_ + index);
  source.image_id = index_offset_ + index;
  source.h = scene.size.h;
  source.w = scene.size.w;
  CounterRng noise = rng_of(index, kNoiseStream);
  source.image = paint(scene, noise);
  if (pipeline_produces("gt_semantic_seg")) {
    source.gt_semantic_seg = semantic_map(scene, static_cast<int64_t>(options_.classes.size()));
  }
  const std::vector<VisibleShape> shapes = visible_shapes(scene);
  for (size_t i = 0; i < shapes.size(); ++i) {
    source.bboxes.push_back(shapes[i].box);
    source.labels.push_back(scene.shapes[i].label);
    source.ann_ids.push_back(static_cast<int64_t>(i));
    source.masks.push_back(shapes[i].mask);
  }
  return source;
}

CocoFile ShapesDataset::ground_truth() const {
  CocoFile file;
  for (size_t label = 0; label < options_.classes.size(); ++label) {
    file.categories.push_back({static_cast<int64_t>(label) + 1, options_.classes[label]});
  }
  for (int64_t index = 0; index < num_images_; ++index) {
    const ShapeScene scene = this->scene(index);
    CocoImage image{
        index_offset_ + index, str_cat("shapes/", index_offset_ + index), scene.size.h, scene.size.w, {}};
    const std::vector<VisibleShape> shapes = visible_shapes(scene);
    for (size_t i = 0; i < shapes.size(); ++i) {
      CocoAnnotation annotation;
      annotation.id = static_cast<int64_t>(file.annotations.size()) + 1;
      annotation.image_id = image.id;
      annotation.category_id = scene.shapes[i].label + 1;
      const BBox& box = shapes[i].box;
      annotation.bbox = {box[0], box[1], box[2] - box[0], box[3] - box[1]};
      annotation.area = static_cast<double>(shapes[i].area);
      annotation.segmentation = shapes[i].mask;
      image.annotations.push_back(file.annotations.size());
      file.annotations.push_back(std::move(annotation));
    }
    file.images.push_back(std::move(image));
  }
  return file;
}

CocoReference ShapesDataset::reference_of(const CocoFile& file) const {
  CocoReference reference{&file, std::vector<size_t>(file.images.size()), options_.classes, {}};
  std::iota(reference.images.begin(), reference.images.end(), size_t{0});
  for (const CocoCategory& category : file.categories) reference.category_of_label.push_back(category.id);
  return reference;
}

EvalReport ShapesDataset::evaluate(const std::vector<DetectionResult>& results,
                                   const EvalOptions& options) const {
  const CocoFile file = ground_truth();
  return evaluate_coco(reference_of(file), results, options);
}

void ShapesDataset::format_results(const std::vector<DetectionResult>& results,
                                   const std::string& prefix) const {
  const CocoFile file = ground_truth();
  write_coco_results(reference_of(file), results, prefix);
}

OSPREY_REGISTER(Dataset, ShapesDataset);

}  // namespace osprey
