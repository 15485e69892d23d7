#include "core/data/voc_annotation.h"

#include <expat.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "core/base/error.h"
#include "core/io/file_bytes.h"

namespace osprey {
namespace {

const std::string kObject = "/annotation/object";
constexpr double kLargest = 1e9;
constexpr std::array<const char*, 4> kCorners = {"xmin", "ymin", "xmax", "ymax"};

// Follows the elements and keeps the text of those that count.
class Reader {
 public:
  explicit Reader(XML_Parser parser) : parser_(parser) {}

  // "" , or what is wrong, with its line.
  const std::string& problem() const { return problem_; }
  VocAnnotation take() { return std::move(annotation_); }

  void start(const std::string& element) {
    path_ += "/" + element;
    text_.clear();
    if (path_ != kObject) return;
    annotation_.objects.emplace_back();
    corners_ = 0;
  }
  void add_text(const char* text, int length) { text_.append(text, static_cast<size_t>(length)); }
  void end() {
    if (path_ == "/annotation/size/width") annotation_.w = static_cast<int64_t>(number());
    if (path_ == "/annotation/size/height") annotation_.h = static_cast<int64_t>(number());
    if (path_ == kObject || starts_with(path_, kObject + "/"))
      end_of_object_part(path_.substr(kObject.size()));
    path_.resize(path_.rfind('/'));
    text_.clear();
  }

 private:
  void end_of_object_part(const std::string& part) {
    VocObject& object = annotation_.objects.back();
    if (part == "/name") object.name = trimmed();
    if (part == "/difficult") object.difficult = number() != 0;
    for (size_t i = 0; i < kCorners.size(); ++i) {
      if (part != str_cat("/bndbox/", kCorners[i])) continue;
      object.bbox[i] = number();
      corners_ |= 1u << i;
    }
    if (!part.empty()) return;
    if (object.name.empty()) fail("an <object> has no <name>");
    if (corners_ != 15)
      fail("the <object> '" + object.name + "' has no <bndbox> with xmin, ymin, xmax, ymax");
  }

  std::string trimmed() const {
    const size_t first = text_.find_first_not_of(" \t\r\n");
    return first == std::string::npos ? ""
                                      : text_.substr(first, text_.find_last_not_of(" \t\r\n") - first + 1);
  }
  double number() {
    const std::string digits = trimmed();
    char* end = nullptr;
    const double value = std::strtod(digits.c_str(), &end);
    const bool fits = std::abs(value) <= kLargest;  // no NaN does
    if (digits.empty() || *end != '\0' || !fits) fail("'" + digits + "' is no number");
    return fits ? value : 0;
  }
  // An exception must not cross the parser, which is C: the first problem stops it.
  void fail(const std::string& problem) {
    if (!problem_.empty()) return;
    problem_ = str_cat(XML_GetCurrentLineNumber(parser_), ": ", problem);
    XML_StopParser(parser_, XML_FALSE);
  }

  XML_Parser parser_;
  std::string problem_;
  std::string path_, text_;
  unsigned corners_ = 0;  // bits of kCorners that the current object has
  VocAnnotation annotation_;
};

}  // namespace

VocAnnotation read_voc_annotation(const std::string& path) {
  const FileBytes file(path);
  const std::string text = file.read(0, file.size());
  const std::unique_ptr<XML_ParserStruct, void (*)(XML_Parser)> parser(XML_ParserCreate(nullptr),
                                                                       XML_ParserFree);
  Reader reader(parser.get());
  XML_SetUserData(parser.get(), &reader);
  XML_SetElementHandler(
      parser.get(), [](void* to, const char* name, const char**) { static_cast<Reader*>(to)->start(name); },
      [](void* to, const char*) { static_cast<Reader*>(to)->end(); });
  XML_SetCharacterDataHandler(parser.get(), [](void* to, const char* text, int length) {
    static_cast<Reader*>(to)->add_text(text, length);
  });
  const bool broken =
      XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), /*isFinal=*/1) == XML_STATUS_ERROR;
  if (!reader.problem().empty()) throw UserError(path + ":" + reader.problem());
  if (broken)
    throw UserError(str_cat(path, ":", XML_GetCurrentLineNumber(parser.get()),
                            ": broken XML: ", XML_ErrorString(XML_GetErrorCode(parser.get()))));
  return reader.take();
}

}  // namespace osprey
