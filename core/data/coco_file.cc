#include "core/data/coco_file.h"

#include <simdjson.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/logging.h"
#include "core/data/json_text.h"
#include "core/mask/rle.h"

namespace osprey {
namespace {

namespace dom = simdjson::dom;

const char* name_of(dom::element_type type) {
  switch (type) {
    case dom::element_type::ARRAY:
      return "a list";
    case dom::element_type::OBJECT:
      return "an object";
    case dom::element_type::STRING:
      return "a string";
    case dom::element_type::BOOL:
      return "a bool";
    case dom::element_type::NULL_VALUE:
      return "null";
    case dom::element_type::DOUBLE:
      return "a fraction";
    default:
      return "a number";
  }
}

// One entry of a top-level list, with its place for messages.
class Entry {
 public:
  Entry(const std::string& file, const char* list, size_t index, dom::element value)
      : file_(file), list_(list), index_(index) {
    if (value.get(object_) != simdjson::SUCCESS) fail("", "an object", value);
  }

  int64_t integer(const char* key) const {
    const dom::element value = required(key);
    int64_t whole = 0;
    if (value.get(whole) == simdjson::SUCCESS) return whole;
    double number = 0;
    if (value.get(number) == simdjson::SUCCESS && number == std::floor(number))
      return static_cast<int64_t>(number);
    fail(key, "an integer", value);
  }

  std::string text(const char* key) const {
    std::string_view text;
    const dom::element value = required(key);
    if (value.get(text) != simdjson::SUCCESS) fail(key, "a string", value);
    return std::string(text);
  }

  bool flag(const char* key) const {  // 0 and 1, or true and false; absent is false
    dom::element value;
    if (object_[key].get(value) != simdjson::SUCCESS || value.is_null()) return false;
    bool boolean = false;
    if (value.get(boolean) == simdjson::SUCCESS) return boolean;
    return integer(key) != 0;
  }

  // NaN for null, which stands for what JSON cannot write.
  double number(const char* key, dom::element value) const {
    if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
    double number = 0;
    if (value.get(number) != simdjson::SUCCESS) fail(key, "a number", value);
    return number;
  }

  std::vector<double> numbers(const char* key, dom::element value) const {
    dom::array array;
    if (value.get(array) != simdjson::SUCCESS) fail(key, "a list of numbers", value);
    std::vector<double> numbers;
    numbers.reserve(array.size());
    for (const dom::element item : array) numbers.push_back(number(key, item));
    return numbers;
  }

  bool find(const char* key, dom::element& value) const {
    return object_[key].get(value) == simdjson::SUCCESS && !value.is_null();
  }

  dom::element required(const char* key) const {
    dom::element value;
    if (object_[key].get(value) != simdjson::SUCCESS) throw UserError(str_cat(place(key), ": is missing"));
    return value;
  }

  [[noreturn]] void fail(const char* key, const std::string& wanted, dom::element got) const {
    throw UserError(str_cat(place(key), ": must be ", wanted, ", got ", name_of(got.type())));
  }

  std::string place(const char* key) const {
    return str_cat(file_, ": ", list_, "[", index_, "]", *key ? "." : "", key);
  }

 private:
  const std::string& file_;
  const char* list_;
  size_t index_;
  dom::object object_;
};

template <typename Read>
void for_each_entry(const std::string& file, dom::element root, const char* list, bool required,
                    Read&& read) {
  dom::element value;
  if (root[list].get(value) != simdjson::SUCCESS) {
    if (required) throw UserError(str_cat(file, ": has no '", list, "': is it a COCO instances file?"));
    return;
  }
  dom::array array;
  if (value.get(array) != simdjson::SUCCESS) {
    throw UserError(str_cat(file, ": ", list, ": must be a list, got ", name_of(value.type())));
  }
  size_t index = 0;
  for (const dom::element item : array) read(Entry(file, list, index++, item));
}

Rle read_rle(const Entry& entry, dom::element segmentation) {
  dom::element size_value, counts;
  if (segmentation["size"].get(size_value) != simdjson::SUCCESS ||
      segmentation["counts"].get(counts) != simdjson::SUCCESS) {
    throw UserError(str_cat(entry.place("segmentation"), ": run lengths need 'size' and 'counts'"));
  }
  const std::vector<double> size = entry.numbers("segmentation.size", size_value);
  if (size.size() != 2)
    throw UserError(str_cat(entry.place("segmentation.size"), ": must be [height, width]"));
  const auto h = static_cast<int64_t>(size[0]), w = static_cast<int64_t>(size[1]);
  try {
    std::string_view text;
    if (counts.get(text) == simdjson::SUCCESS) return rle_from_string(std::string(text), h, w);
    const std::vector<double> runs = entry.numbers("segmentation.counts", counts);
    return rle_from_counts(std::vector<int64_t>(runs.begin(), runs.end()), h, w);
  } catch (const UserError& problem) {
    throw UserError(str_cat(entry.place("segmentation"), ": ", problem.what()));
  }
}

// Without a size for polygons: they get the one of their image later.
InstanceMask read_segmentation(const Entry& entry) {
  InstanceMask mask;
  dom::element value;
  if (!entry.find("segmentation", value)) return mask;
  if (value.is_object()) {
    mask.rle = read_rle(entry, value);
    mask.h = mask.rle.h;
    mask.w = mask.rle.w;
    return mask;
  }
  dom::array parts;
  if (value.get(parts) != simdjson::SUCCESS) entry.fail("segmentation", "polygons or run lengths", value);
  for (const dom::element part : parts) {
    std::vector<double> polygon = entry.numbers("segmentation", part);
    if (polygon.size() >= 6 && polygon.size() % 2 == 0) mask.polygons.push_back(std::move(polygon));
  }
  return mask;
}

CocoAnnotation read_annotation(const Entry& entry) {
  CocoAnnotation annotation;
  annotation.id = entry.integer("id");
  annotation.image_id = entry.integer("image_id");
  annotation.category_id = entry.integer("category_id");
  const std::vector<double> bbox = entry.numbers("bbox", entry.required("bbox"));
  if (bbox.size() != 4) {
    throw UserError(
        str_cat(entry.place("bbox"), ": must be [x, y, width, height], got ", bbox.size(), " numbers"));
  }
  std::copy(bbox.begin(), bbox.end(), annotation.bbox.begin());
  dom::element area;
  annotation.area = entry.find("area", area) ? entry.number("area", area) : bbox[2] * bbox[3];
  annotation.iscrowd = entry.flag("iscrowd");
  annotation.ignore = entry.flag("ignore");
  annotation.segmentation = read_segmentation(entry);
  return annotation;
}

CocoImage read_image_entry(const Entry& entry) {
  CocoImage image{
      entry.integer("id"), entry.text("file_name"), entry.integer("height"), entry.integer("width"), {}};
  if (image.h <= 0 || image.w <= 0) {
    throw UserError(str_cat(entry.place("width"), ": an image of ", image.w, "x", image.h, " pixels (",
                            image.file_name, ")"));
  }
  return image;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError(str_cat(path, ": cannot be opened"));
  const size_t size = std::filesystem::file_size(path);
  std::string text;
  text.reserve(size + simdjson::SIMDJSON_PADDING);  // else the parser copies it
  text.resize(size);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file) throw UserError(str_cat(path, ": cannot be read"));
  return text;
}

// `text` and `parser` must outlive the result.
dom::element parse(dom::parser& parser, std::string& text, const std::string& path) {
  dom::element root;
  if (parser.parse(text).get(root) == simdjson::SUCCESS) return root;
  std::string finite = replace_non_finite(text);
  if (parser.parse(finite).get(root) != simdjson::SUCCESS) {
    throw UserError(str_cat(path, ":", describe_syntax_error(finite)));
  }
  text = std::move(finite);
  return root;
}

// Gives each annotation to its image and each polygon the size of its image.
void connect(CocoFile& file, const std::unordered_map<int64_t, size_t>& image_of_id) {
  int64_t orphans = 0;
  const CocoAnnotation* first_orphan = nullptr;
  for (size_t i = 0; i < file.annotations.size(); ++i) {
    CocoAnnotation& annotation = file.annotations[i];
    const auto found = image_of_id.find(annotation.image_id);
    if (found == image_of_id.end()) {
      if (orphans++ == 0) first_orphan = &annotation;
      continue;
    }
    CocoImage& image = file.images[found->second];
    image.annotations.push_back(i);
    InstanceMask& mask = annotation.segmentation;
    if (mask.is_polygon()) {
      mask.h = image.h;
      mask.w = image.w;
    } else if (mask.h != 0 && (mask.h != image.h || mask.w != image.w)) {
      throw UserError(str_cat(file.path, ": annotation ", annotation.id, ": segmentation of ", mask.w, "x",
                              mask.h, " for image ", image.file_name, " of ", image.w, "x", image.h,
                              " pixels"));
    }
  }
  if (orphans > 0) {
    log_warning(str_cat(file.path, ": ", orphans,
                        " annotations belong to images that the file does not list, ", "e.g. annotation ",
                        first_orphan->id, " to image ", first_orphan->image_id));
  }
}

}  // namespace

CocoFile load_coco_file(const std::string& path) {
  CocoFile file;
  file.path = path;
  std::string text = read_text(path);
  dom::parser parser;
  const dom::element root = parse(parser, text, path);
  if (!root.is_object()) throw UserError(str_cat(path, ": must be an object, got ", name_of(root.type())));

  for_each_entry(path, root, "categories", true, [&file](const Entry& entry) {
    file.categories.push_back({entry.integer("id"), entry.text("name")});
  });
  std::unordered_map<int64_t, size_t> image_of_id;
  for_each_entry(path, root, "images", true, [&](const Entry& entry) {
    CocoImage image = read_image_entry(entry);
    if (image_of_id.emplace(image.id, file.images.size()).second) {
      file.images.push_back(std::move(image));
    } else {
      log_warning(
          str_cat(entry.place("id"), ": image ", image.id, " (", image.file_name, ") is listed twice"));
    }
  });
  for_each_entry(path, root, "annotations", false,
                 [&file](const Entry& entry) { file.annotations.push_back(read_annotation(entry)); });
  connect(file, image_of_id);
  return file;
}

}  // namespace osprey
