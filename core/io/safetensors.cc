#include "core/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"
#include "core/io/atomic_file.h"
#include "core/io/file_bytes.h"

namespace osprey {
namespace {

static_assert(std::endian::native == std::endian::little, "the data is copied without swapping bytes");

using Json = nlohmann::json;

constexpr uint64_t kMaxHeader = 100'000'000;  // as the reference implementation
constexpr const char* kMetadata = "__metadata__";

struct DTypeName {
  DType dtype;
  const char* name;
};
constexpr DTypeName kDTypeNames[] = {
    {DType::kF64, "F64"}, {DType::kF32, "F32"}, {DType::kF16, "F16"}, {DType::kBF16, "BF16"},
    {DType::kI64, "I64"}, {DType::kI32, "I32"}, {DType::kU8, "U8"},   {DType::kBool, "BOOL"},
};

const char* format_name(DType dtype) {
  for (const DTypeName& entry : kDTypeNames) {
    if (entry.dtype == dtype) return entry.name;
  }
  throw Error(str_cat("safetensors: no name for dtype ", dtype));
}

// Where one tensor lies; offsets count from the end of the header.
struct Entry {
  std::string name;
  DType dtype;
  Shape shape;
  uint64_t begin, end;
};

// A file whose defects are reported under its name.
class Reader : public FileBytes {
 public:
  using FileBytes::FileBytes;

  template <typename... Args>
  [[noreturn]] void invalid(const Args&... reason) const {
    throw UserError(str_cat(path(), ": not a valid safetensors file: ", reason...));
  }
};

struct Header {
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
  uint64_t data_begin = 0;  // in the file
};

// The header's JSON and its keys in file order; std::map would lose the order and hide duplicates.
Json parse_json(const Reader& file, const std::string& text, std::vector<std::string>& names) {
  std::set<std::string> seen;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > 4) file.invalid("the header is nested too deeply");
    if (depth == 1 && event == Json::parse_event_t::key) {
      names.push_back(parsed.get<std::string>());
      if (!seen.insert(names.back()).second) file.invalid("duplicate name '", names.back(), "'");
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& error) {
    file.invalid("bad JSON in the header: ", error.what());
  }
}

DType parse_dtype(const Reader& file, const std::string& name, const Json& value) {
  if (!value.is_string()) file.invalid("'", name, "': dtype must be a string");
  for (const DTypeName& entry : kDTypeNames) {
    if (value == entry.name) return entry.dtype;
  }
  file.invalid("'", name, "': unsupported dtype ", value.dump(),
               "; supported: F64, F32, F16, BF16, I64, I32, U8, BOOL");
}

std::vector<uint64_t> parse_unsigned_list(const Reader& file, const std::string& where, const Json& value) {
  if (!value.is_array()) file.invalid(where, " must be a list");
  std::vector<uint64_t> numbers;
  for (const Json& number : value) {
    if (!number.is_number_unsigned()) file.invalid(where, " must hold non-negative integers");
    numbers.push_back(number.get<uint64_t>());
  }
  return numbers;
}

void check_byte_count(const Reader& file, const Entry& entry, uint64_t data_size) {
  if (entry.begin > entry.end || entry.end > data_size) {
    file.invalid("'", entry.name, "': data_offsets [", entry.begin, ", ", entry.end, "] lie outside the ",
                 data_size, " bytes of data (is the file truncated?)");
  }
  uint64_t bytes = size_of(entry.dtype);
  for (const int64_t extent : entry.shape) {
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes)) {
      file.invalid("'", entry.name, "': shape ", to_string(entry.shape), " overflows");
    }
  }
  if (bytes != entry.end - entry.begin) {
    file.invalid("'", entry.name, "': ", format_name(entry.dtype), " ", to_string(entry.shape), " needs ",
                 bytes, " bytes, data_offsets give ", entry.end - entry.begin);
  }
}

Entry parse_entry(const Reader& file, const std::string& name, const Json& value, uint64_t data_size) {
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!value.is_object() || !value.contains(key)) file.invalid("'", name, "': '", key, "' is missing");
  }
  Entry entry{name, parse_dtype(file, name, value["dtype"]), {}, 0, 0};
  for (const uint64_t extent : parse_unsigned_list(file, str_cat("'", name, "': shape"), value["shape"])) {
    if (extent > static_cast<uint64_t>(INT64_MAX))
      file.invalid("'", name, "': extent ", extent, " is too large");
    entry.shape.push_back(static_cast<int64_t>(extent));
  }
  const auto offsets =
      parse_unsigned_list(file, str_cat("'", name, "': data_offsets"), value["data_offsets"]);
  if (offsets.size() != 2) file.invalid("'", name, "': data_offsets must be [begin, end]");
  entry.begin = offsets[0];
  entry.end = offsets[1];
  check_byte_count(file, entry, data_size);
  return entry;
}

std::map<std::string, std::string> parse_metadata(const Reader& file, const Json& value) {
  if (!value.is_object()) file.invalid("__metadata__ must be an object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) file.invalid("__metadata__ '", key, "' must be a string");
    metadata.emplace(key, text.get<std::string>());
  }
  return metadata;
}

// The format wants the data to be covered without overlap and without a gap: a gap can hide a payload, and a
// missing end is a download that broke off.
void check_coverage(const Reader& file, const std::vector<Entry>& entries, uint64_t data_size) {
  std::vector<const Entry*> sorted;
  for (const Entry& entry : entries) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](const Entry* a, const Entry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  uint64_t covered = 0;
  for (const Entry* entry : sorted) {
    if (entry->begin < covered) file.invalid("'", entry->name, "' overlaps another tensor");
    if (entry->begin > covered) file.invalid("there is a gap in the data before '", entry->name, "'");
    covered = entry->end;
  }
  if (covered != data_size) file.invalid(data_size - covered, " bytes of data belong to no tensor");
}

Header read_header(const Reader& file) {
  if (file.size() < 8) file.invalid("it has ", file.size(), " bytes, the header length alone takes 8");
  uint64_t length = 0;
  file.read(0, &length, 8);
  if (length > kMaxHeader)
    file.invalid("the header claims ", length, " bytes, at most ", kMaxHeader, " are allowed");
  if (length > file.size() - 8)
    file.invalid("the header claims ", length, " bytes, the file has ", file.size());
  const std::string text = file.read(8, length);

  Header header;
  header.data_begin = 8 + length;
  std::vector<std::string> names;
  const Json json = parse_json(file, text, names);
  if (!json.is_object()) file.invalid("the header is not a JSON object");
  for (const std::string& name : names) {
    if (name == kMetadata) {
      header.metadata = parse_metadata(file, json[name]);
    } else {
      header.entries.push_back(parse_entry(file, name, json[name], file.size() - header.data_begin));
    }
  }
  check_coverage(file, header.entries, file.size() - header.data_begin);
  return header;
}

// Any other byte in a C++ bool is undefined behaviour.
void normalise_bools(void* data, int64_t count) {
  auto* bytes = static_cast<uint8_t*>(data);
  for (int64_t i = 0; i < count; ++i) bytes[i] = bytes[i] != 0;
}

// Data offsets of each tensor, wide dtypes first: everything is then aligned to its element size for readers
// that map the file.
std::vector<std::pair<uint64_t, size_t>> plan_layout(const Safetensors& content) {
  std::vector<std::pair<uint64_t, size_t>> layout(content.tensors.size());  // (begin, index), in file order
  for (size_t i = 0; i < layout.size(); ++i) layout[i].second = i;
  const auto width = [&](size_t i) { return size_of(content.tensors[i].second.dtype()); };
  std::stable_sort(layout.begin(), layout.end(),
                   [&](const auto& a, const auto& b) { return width(a.second) > width(b.second); });
  uint64_t offset = 0;
  for (auto& [begin, index] : layout) {
    begin = offset;
    offset += content.tensors[index].second.bytes();
  }
  return layout;
}

void check_writable(const std::string& path, const Safetensors& content) {
  std::set<std::string> seen{kMetadata};
  for (const auto& [name, tensor] : content.tensors) {
    OSPREY_REQUIRE(tensor.defined(), "write_safetensors: ", path, ": '", name, "' is undefined");
    OSPREY_REQUIRE(seen.insert(name).second, "write_safetensors: ", path, ": the name '", name, "' is taken");
  }
}

std::string header_text(const Safetensors& content, const std::vector<std::pair<uint64_t, size_t>>& layout) {
  std::vector<uint64_t> begins(layout.size());
  for (const auto& [begin, index] : layout) begins[index] = begin;
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  auto& object = header.get_ref<nlohmann::ordered_json::object_t&>();
  // push_back, because ordered_map::operator[] searches linearly; the names are known to be distinct.
  if (!content.metadata.empty()) object.push_back({kMetadata, content.metadata});
  for (size_t i = 0; i < begins.size(); ++i) {
    const auto& [name, tensor] = content.tensors[i];
    object.push_back({name,
                      {{"dtype", format_name(tensor.dtype())},
                       {"shape", tensor.shape()},
                       {"data_offsets", {begins[i], begins[i] + tensor.bytes()}}}});
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

Safetensors read_safetensors(const std::string& path) {
  const Reader file(path);
  Header header = read_header(file);
  Safetensors content{{}, std::move(header.metadata)};
  for (Entry& entry : header.entries) {
    Tensor tensor(std::move(entry.shape), entry.dtype);
    if (!tensor.empty()) {
      file.read(header.data_begin + entry.begin, tensor.mutable_raw(), tensor.bytes());
      if (entry.dtype == DType::kBool) normalise_bools(tensor.mutable_raw(), tensor.numel());
    }
    content.tensors.emplace_back(std::move(entry.name), std::move(tensor));
  }
  return content;
}

std::map<std::string, std::string> read_safetensors_metadata(const std::string& path) {
  return read_header(Reader(path)).metadata;
}

void write_safetensors(const std::string& path, const Safetensors& content) {
  check_writable(path, content);
  const auto layout = plan_layout(content);
  const std::string header = header_text(content, layout);
  const uint64_t length = header.size();
  AtomicFile file(path);
  file.write(&length, sizeof length);
  file.write(header);
  for (const auto& [begin, index] : layout) {
    const Tensor host = content.tensors[index].second.to(kCPU);
    if (!host.empty()) file.write(host.raw(), host.bytes());
  }
  file.commit();
}

}  // namespace osprey
