#include "core/detection/batch_file.h"

#include <map>
#include <nlohmann/json.hpp>

#include "core/io/safetensors.h"

namespace osprey {
namespace {

using Json = nlohmann::ordered_json;

// --- img_metas.

Json meta_json(const ImgMeta& meta) {
  return {{"filename", meta.filename},
          {"image_id", meta.image_id},
          {"dataset_index", meta.dataset_index},
          {"ori_shape", meta.ori_shape},
          {"img_shape", meta.img_shape},
          {"pad_shape", meta.pad_shape},
          {"scale_factor", meta.scale_factor},
          {"flip", meta.flip},
          {"flip_direction", meta.flip_direction}};
}

ImgMeta parse_img_meta(const Json& json) {
  ImgMeta meta;
  json.at("filename").get_to(meta.filename);
  json.at("image_id").get_to(meta.image_id);
  json.at("dataset_index").get_to(meta.dataset_index);
  json.at("ori_shape").get_to(meta.ori_shape);
  json.at("img_shape").get_to(meta.img_shape);
  json.at("pad_shape").get_to(meta.pad_shape);
  json.at("scale_factor").get_to(meta.scale_factor);
  json.at("flip").get_to(meta.flip);
  json.at("flip_direction").get_to(meta.flip_direction);
  return meta;
}

// --- The masks of one image: lists of numbers, and how they divide.

Tensor integers(const std::vector<int64_t>& values) {
  return Tensor::from(values, {static_cast<int64_t>(values.size())});
}

struct FlatMasks {
  std::vector<int64_t> sizes;    // h, w of each mask
  std::vector<int64_t> parts;    // of each mask: polygons; -1: run lengths
  std::vector<int64_t> lengths;  // of each polygon and each list of runs, in numbers
  std::vector<double> numbers;   // coordinates or run lengths
};

FlatMasks flatten(const InstanceMasks& masks) {
  FlatMasks flat;
  const auto add = [&](const auto& list) {
    flat.lengths.push_back(static_cast<int64_t>(list.size()));
    flat.numbers.insert(flat.numbers.end(), list.begin(), list.end());
  };
  for (const InstanceMask& mask : masks) {
    flat.sizes.insert(flat.sizes.end(), {mask.h, mask.w, mask.rle.h, mask.rle.w});
    flat.parts.push_back(mask.is_polygon() ? static_cast<int64_t>(mask.polygons.size()) : -1);
    if (!mask.is_polygon()) add(mask.rle.counts);
    for (const Polygon& polygon : mask.polygons) add(polygon);
  }
  return flat;
}

// Takes numbers off the front, with a check that they are there.
class Front {
 public:
  explicit Front(const Tensor& tensor) : values_(tensor.to_doubles()) {}
  double next() {
    if (at_ >= values_.size()) throw UserError("its masks are incomplete");
    return values_[at_++];
  }
  int64_t next_integer() { return static_cast<int64_t>(next()); }
  template <typename T>
  std::vector<T> next_list(int64_t length) {
    if (length < 0 || static_cast<size_t>(length) > values_.size() - at_)
      throw UserError("its masks are incomplete");
    std::vector<T> list;
    for (int64_t i = 0; i < length; ++i) list.push_back(static_cast<T>(values_[at_++]));
    return list;
  }
  bool done() const { return at_ == values_.size(); }

 private:
  std::vector<double> values_;
  size_t at_ = 0;
};

InstanceMasks unflatten(Front sizes, Front parts, Front lengths, Front numbers) {
  InstanceMasks masks;
  while (!parts.done()) {
    InstanceMask mask;
    mask.h = sizes.next_integer();
    mask.w = sizes.next_integer();
    mask.rle.h = sizes.next_integer();
    mask.rle.w = sizes.next_integer();
    const int64_t polygons = parts.next_integer();
    if (polygons < 0) mask.rle.counts = numbers.next_list<uint32_t>(lengths.next_integer());
    for (int64_t i = 0; i < polygons; ++i)
      mask.polygons.push_back(numbers.next_list<double>(lengths.next_integer()));
    masks.push_back(std::move(mask));
  }
  return masks;
}

// --- The file.

void append(Safetensors& file, const std::string& name, const Tensors& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) file.tensors.emplace_back(str_cat(name, ".", i), tensors[i]);
}

void append_masks(Safetensors& file, const std::vector<InstanceMasks>& images) {
  for (size_t i = 0; i < images.size(); ++i) {
    const FlatMasks flat = flatten(images[i]);
    const std::string prefix = str_cat("gt_masks.", i, ".");
    file.tensors.emplace_back(prefix + "sizes", integers(flat.sizes));
    file.tensors.emplace_back(prefix + "parts", integers(flat.parts));
    file.tensors.emplace_back(prefix + "lengths", integers(flat.lengths));
    file.tensors.emplace_back(prefix + "numbers",
                              Tensor::from(flat.numbers, {static_cast<int64_t>(flat.numbers.size())}));
  }
}

using Named = std::map<std::string, Tensor>;

const Tensor& required(const Named& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw UserError("it has no '" + name + "'");
  return found->second;
}

Tensors take_list(const Named& tensors, const std::string& name, size_t count) {
  Tensors list;
  for (size_t i = 0; i < count; ++i) list.push_back(required(tensors, str_cat(name, ".", i)));
  return list;
}

Batch parse(const Named& tensors, const Json& json) {
  Batch batch;
  json.at("rng_seed").get_to(batch.rng_seed);
  for (const Json& meta : json.at("img_metas")) batch.img_metas.push_back(parse_img_meta(meta));
  if (tensors.count("img")) batch.img = tensors.at("img");
  if (tensors.count("gt_semantic_seg")) batch.gt_semantic_seg = tensors.at("gt_semantic_seg");
  batch.gt_bboxes = take_list(tensors, "gt_bboxes", json.at("gt_bboxes"));
  batch.gt_labels = take_list(tensors, "gt_labels", json.at("gt_labels"));
  batch.gt_bboxes_ignore = take_list(tensors, "gt_bboxes_ignore", json.at("gt_bboxes_ignore"));
  for (size_t i = 0; i < json.at("gt_masks").get<size_t>(); ++i) {
    const auto part = [&](const char* name) {
      return Front(required(tensors, str_cat("gt_masks.", i, ".", name)));
    };
    batch.gt_masks.push_back(unflatten(part("sizes"), part("parts"), part("lengths"), part("numbers")));
  }
  return batch;
}

}  // namespace

void write_batch(const std::string& path, const Batch& batch) {
  Safetensors file;
  if (batch.img.defined()) file.tensors.emplace_back("img", batch.img);
  append(file, "gt_bboxes", batch.gt_bboxes);
  append(file, "gt_labels", batch.gt_labels);
  append(file, "gt_bboxes_ignore", batch.gt_bboxes_ignore);
  append_masks(file, batch.gt_masks);
  if (batch.gt_semantic_seg.defined()) file.tensors.emplace_back("gt_semantic_seg", batch.gt_semantic_seg);
  Json json = {{"rng_seed", batch.rng_seed},
               {"gt_bboxes", batch.gt_bboxes.size()},
               {"gt_labels", batch.gt_labels.size()},
               {"gt_bboxes_ignore", batch.gt_bboxes_ignore.size()},
               {"gt_masks", batch.gt_masks.size()}};
  json["img_metas"] = Json::array();
  for (const ImgMeta& meta : batch.img_metas) json["img_metas"].push_back(meta_json(meta));
  file.metadata["batch"] = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  write_safetensors(path, file);
}

Batch read_batch(const std::string& path) {
  const Safetensors file = read_safetensors(path);
  try {
    const auto text = file.metadata.find("batch");
    if (text == file.metadata.end()) throw UserError("it has no description");
    return parse(Named(file.tensors.begin(), file.tensors.end()), Json::parse(text->second));
  } catch (const UserError& error) {
    throw UserError(str_cat(path, ": not a whole batch: ", error.what()));
  } catch (const Json::exception& error) {
    throw UserError(str_cat(path, ": not a whole batch: ", error.what()));
  }
}

}  // namespace osprey
