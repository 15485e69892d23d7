#include "core/io/zip_writer.h"

#include "core/base/error.h"
#include "core/io/zip_archive.h"

namespace osprey {
namespace {

constexpr uint64_t kAlignment = 64, kLocalBytes = 30;
constexpr uint32_t kMax32 = 0xffffffffu;
constexpr uint16_t kMax16 = 0xffff;
constexpr uint16_t kZip64Version = 45, kUtf8Names = 0x0800;
constexpr uint16_t kExtra64 = 0x0001, kPadding = 0x4246;  // "FB", as PyTorch pads

// Appends little-endian fields to a record.
class Record {
 public:
  Record& u16(uint64_t value) { return bytes(value, 2); }
  Record& u32(uint64_t value) { return bytes(value, 4); }
  Record& u64(uint64_t value) { return bytes(value, 8); }
  // Saturates: the true value is then in a ZIP64 field.
  Record& size32(uint64_t value) { return u32(value < kMax32 ? value : kMax32); }
  Record& text(const std::string& value) {
    text_ += value;
    return *this;
  }
  const std::string& str() const { return text_; }

 private:
  Record& bytes(uint64_t value, int count) {
    for (int i = 0; i < count; ++i, value >>= 8) text_ += static_cast<char>(value & 0xff);
    return *this;
  }
  std::string text_;
};

// Version, flags, method (stored), time and date (none: the same content gives the same file).
Record& common_fields(Record& record) { return record.u16(kZip64Version).u16(kUtf8Names).u16(0).u32(0); }

// Those of `values` that a 32-bit field cannot hold, as a ZIP64 extra field.
std::string extra64(const std::vector<uint64_t>& values) {
  Record body;
  for (const uint64_t value : values) {
    if (value >= kMax32) body.u64(value);
  }
  if (body.str().empty()) return "";
  return Record().u16(kExtra64).u16(body.str().size()).text(body.str()).str();
}

}  // namespace

void ZipWriter::write(const std::string& text) {
  file_.write(text);
  position_ += text.size();
}

void ZipWriter::add(const std::string& name, const void* data, uint64_t bytes) {
  const Entry entry{name, bytes, position_, crc32(data, bytes)};
  OSPREY_ASSERT(name.size() < kMax16, "zip entry name of ", name.size(), " bytes");
  std::string extra = extra64({bytes, bytes});
  const uint64_t unpadded = position_ + kLocalBytes + name.size() + extra.size() + 4;
  const uint64_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;
  extra += Record().u16(kPadding).u16(padding).text(std::string(padding, 'Z')).str();
  Record header;
  common_fields(header.text("PK\x03\x04"))
      .u32(entry.crc)
      .size32(bytes)
      .size32(bytes)
      .u16(name.size())
      .u16(extra.size())
      .text(name)
      .text(extra);
  write(header.str());
  if (bytes > 0) file_.write(data, bytes);
  position_ += bytes;
  entries_.push_back(entry);
}

std::string ZipWriter::central_record(const Entry& entry) {
  const std::string extra = extra64({entry.bytes, entry.bytes, entry.header_offset});
  Record record;
  common_fields(record.text("PK\x01\x02").u16(kZip64Version))
      .u32(entry.crc)
      .size32(entry.bytes)
      .size32(entry.bytes)
      .u16(entry.name.size())
      .u16(extra.size())
      .u16(0)  // comment
      .u16(0)  // disk
      .u16(0)  // internal attributes
      .u32(0)  // external attributes
      .size32(entry.header_offset)
      .text(entry.name)
      .text(extra);
  return record.str();
}

void ZipWriter::commit() {
  const uint64_t directory = position_, count = entries_.size();
  for (const Entry& entry : entries_) write(central_record(entry));
  const uint64_t bytes = position_ - directory;
  if (count >= kMax16 || directory >= kMax32 || bytes >= kMax32) {
    const uint64_t end64 = position_;
    write(Record()
              .text("PK\x06\x06")
              .u64(44)  // bytes that follow
              .u16(kZip64Version)
              .u16(kZip64Version)
              .u32(0)
              .u32(0)
              .u64(count)
              .u64(count)
              .u64(bytes)
              .u64(directory)
              .str());
    write(Record().text("PK\x06\x07").u32(0).u64(end64).u32(1).str());
  }
  const uint64_t count16 = count < kMax16 ? count : kMax16;
  write(Record()
            .text("PK\x05\x06")
            .u16(0)
            .u16(0)
            .u16(count16)
            .u16(count16)
            .size32(bytes)
            .size32(directory)
            .u16(0)
            .str());
  file_.commit();
}

}  // namespace osprey
