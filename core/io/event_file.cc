#include "core/io/event_file.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"

namespace osprey {
namespace {

// A message in protocol buffers' wire format (protobuf.dev, "Encoding"): tag = field number << 3 | type.
class Message {
 public:
  Message& varint(int field, uint64_t value) {
    tag(field, 0);
    number(value);
    return *this;
  }
  Message& fixed64(int field, double value) {
    tag(field, 1);
    return raw(value);
  }
  Message& bytes(int field, const std::string& value) {
    tag(field, 2);
    number(value.size());
    text_ += value;
    return *this;
  }
  Message& fixed32(int field, float value) {
    tag(field, 5);
    return raw(value);
  }
  const std::string& str() const { return text_; }

 private:
  void tag(int field, int type) { number(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(type)); }
  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  template <typename T>
  Message& raw(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  std::string text_;
};

// Field numbers of event.proto, summary.proto, tensor.proto and tensor_shape.proto.
enum Event { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5 };
enum Summary { kValue = 1 };
enum Value { kTag = 1, kSimpleValue = 2, kTensor = 8, kMetadata = 9 };
enum Metadata { kPluginData = 1, kPluginName = 1 };
enum TensorProto { kDtype = 1, kShape = 2, kStringValue = 8 };
enum ShapeProto { kDim = 2, kDimSize = 1 };
constexpr uint64_t kStringType = 7;  // DT_STRING

double wall_time() {
  using Seconds = std::chrono::duration<double>;
  return std::chrono::duration_cast<Seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string file_name() {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  return str_cat("events.out.tfevents.", static_cast<int64_t>(wall_time()), ".", host, ".", ::getpid());
}

std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table;
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
    table[i] = crc;
  }
  return table;
}

}  // namespace

uint32_t crc32c(const void* data, size_t bytes) {
  static const std::array<uint32_t, 256> table = make_crc_table();
  const auto* next = static_cast<const uint8_t*>(data);
  uint32_t crc = ~0u;
  for (; bytes > 0; --bytes, ++next) crc = (crc >> 8) ^ table[(crc ^ *next) & 0xff];
  return ~crc;
}

uint32_t masked_crc32c(const void* data, size_t bytes) {
  const uint32_t crc = crc32c(data, bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

EventFile::EventFile(const std::string& folder)
    : path_((std::filesystem::path(folder) / file_name()).string()) {
  std::error_code ignored;  // opening reports the reason
  std::filesystem::create_directories(folder, ignored);
  out_.open(path_, std::ios::binary | std::ios::app);
  if (!out_) throw UserError(str_cat(path_, ": cannot create the file: ", std::strerror(errno)));
  write_record(Message().fixed64(kWallTime, wall_time()).bytes(kFileVersion, "brain.Event:2").str());
}

void EventFile::add_scalars(int64_t step, const std::vector<Scalar>& scalars) {
  Message summary;
  for (const auto& [tag, value] : scalars)
    summary.bytes(kValue, Message().bytes(kTag, tag).fixed32(kSimpleValue, static_cast<float>(value)).str());
  add_summary(step, summary.str());
}

void EventFile::add_text(int64_t step, const std::string& tag, const std::string& text) {
  const std::string plugin = Message().bytes(kPluginName, "text").str();
  const std::string shape = Message().bytes(kDim, Message().varint(kDimSize, 1).str()).str();
  const std::string tensor =
      Message().varint(kDtype, kStringType).bytes(kShape, shape).bytes(kStringValue, text).str();
  const std::string value = Message()
                                .bytes(kTag, tag + "/text_summary")
                                .bytes(kMetadata, Message().bytes(kPluginData, plugin).str())
                                .bytes(kTensor, tensor)
                                .str();
  add_summary(step, Message().bytes(kValue, value).str());
}

void EventFile::add_summary(int64_t step, const std::string& summary) {
  write_record(Message()
                   .fixed64(kWallTime, wall_time())
                   .varint(kStep, static_cast<uint64_t>(step))
                   .bytes(kSummary, summary)
                   .str());
}

void EventFile::write_record(const std::string& event) {
  const uint64_t length = event.size();
  const uint32_t length_crc = masked_crc32c(&length, sizeof length);
  const uint32_t data_crc = masked_crc32c(event.data(), event.size());
  out_.write(reinterpret_cast<const char*>(&length), sizeof length);
  out_.write(reinterpret_cast<const char*>(&length_crc), sizeof length_crc);
  out_.write(event.data(), static_cast<std::streamsize>(event.size()));
  out_.write(reinterpret_cast<const char*>(&data_crc), sizeof data_crc);
  if (!out_.flush()) throw UserError(path_ + ": cannot write the events");
}

}  // namespace osprey
