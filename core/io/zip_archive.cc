#include "core/io/zip_archive.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "core/base/error.h"

namespace osprey {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEndOfDirectory = 0x06054b50;
constexpr uint32_t kEndOfDirectory64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint64_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20;
constexpr uint64_t kMaxComment = 0xffff;
constexpr uint16_t kExtra64 = 0x0001;
constexpr uint16_t kEncrypted = 0x0001;

// Little-endian fields of a record. Requires the field to lie within the text.
template <typename T>
T field(std::string_view record, uint64_t offset) {
  T value;
  std::memcpy(&value, record.data() + offset, sizeof value);
  return value;
}

// The ZIP64 extra field holds, in this order, those of size, compressed size and offset that did not fit.
void apply_extra64(std::string_view extra, uint64_t& size, uint64_t& compressed, uint64_t& offset) {
  while (extra.size() >= 4) {
    const auto id = field<uint16_t>(extra, 0);
    const uint64_t length = field<uint16_t>(extra, 2);
    if (length > extra.size() - 4) return;
    std::string_view body = extra.substr(4, length);
    for (uint64_t* value : {&size, &compressed, &offset}) {
      if (id != kExtra64 || *value != 0xffffffffu || body.size() < 8) continue;
      *value = field<uint64_t>(body, 0);
      body.remove_prefix(8);
    }
    extra.remove_prefix(4 + length);
  }
}

// Tables for eight bytes at a time ("slicing by 8"; Kounavis and Berry, 2005).
using CrcTables = std::array<std::array<uint32_t, 256>, 8>;

CrcTables make_crc_tables() {
  CrcTables tables;
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
    tables[0][i] = crc;
  }
  for (size_t t = 1; t < 8; ++t) {
    for (uint32_t i = 0; i < 256; ++i) {
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
    }
  }
  return tables;
}

}  // namespace

uint32_t crc32(const void* data, uint64_t bytes) {
  static const CrcTables tables = make_crc_tables();
  const auto* next = static_cast<const uint8_t*>(data);
  uint32_t crc = ~0u;
  for (; bytes >= 8; bytes -= 8, next += 8) {
    uint32_t low;
    std::memcpy(&low, next, 4);
    low ^= crc;
    crc = tables[7][low & 0xff] ^ tables[6][(low >> 8) & 0xff] ^ tables[5][(low >> 16) & 0xff] ^
          tables[4][low >> 24] ^ tables[3][next[4]] ^ tables[2][next[5]] ^ tables[1][next[6]] ^
          tables[0][next[7]];
  }
  for (; bytes > 0; --bytes, ++next) crc = (crc >> 8) ^ tables[0][(crc ^ *next) & 0xff];
  return ~crc;
}

template <typename... Args>
void ZipArchive::invalid(const Args&... reason) const {
  throw UserError(str_cat(file_.path(), ": not a readable zip file: ", reason...));
}

ZipArchive::ZipArchive(const FileBytes& file) : file_(file) {
  read_directory(find_directory());
  check_total();
}

ZipArchive::Directory ZipArchive::find_directory() const {
  if (file_.size() < kEndBytes) invalid("it is too short");
  const uint64_t tail_bytes = std::min(file_.size(), kEndBytes + kMaxComment);
  const uint64_t tail_offset = file_.size() - tail_bytes;
  const std::string tail = file_.read(tail_offset, tail_bytes);
  uint64_t end = tail_bytes - kEndBytes;
  while (field<uint32_t>(tail, end) != kEndOfDirectory) {
    if (end-- == 0) invalid("it has no directory (is the file truncated?)");
  }
  Directory directory{field<uint32_t>(tail, end + 16), field<uint32_t>(tail, end + 12),
                      field<uint16_t>(tail, end + 10)};
  const uint64_t end_offset = tail_offset + end;
  if (end_offset < kLocatorBytes) return directory;
  const std::string locator = file_.read(end_offset - kLocatorBytes, kLocatorBytes);
  if (field<uint32_t>(locator, 0) != kLocator64) return directory;
  const std::string end64 = file_.read(field<uint64_t>(locator, 8), kEnd64Bytes);
  if (field<uint32_t>(end64, 0) != kEndOfDirectory64) invalid("its ZIP64 directory is damaged");
  return {field<uint64_t>(end64, 48), field<uint64_t>(end64, 40), field<uint64_t>(end64, 32)};
}

void ZipArchive::read_directory(const Directory& directory) {
  const std::string text = file_.read(directory.offset, directory.bytes);
  std::string_view rest = text;
  for (uint64_t i = 0; i < directory.count; ++i) {
    if (rest.size() < kCentralBytes || field<uint32_t>(rest, 0) != kCentralHeader)
      invalid("its directory is damaged");
    const uint64_t name_bytes = field<uint16_t>(rest, 28), extra_bytes = field<uint16_t>(rest, 30);
    const uint64_t record_bytes = kCentralBytes + name_bytes + extra_bytes + field<uint16_t>(rest, 32);
    if (rest.size() < record_bytes) invalid("its directory is damaged");
    const std::string name(rest.substr(kCentralBytes, name_bytes));
    uint64_t compressed = field<uint32_t>(rest, 20), size = field<uint32_t>(rest, 24);
    uint64_t offset = field<uint32_t>(rest, 42);
    apply_extra64(rest.substr(kCentralBytes + name_bytes, extra_bytes), size, compressed, offset);
    if (field<uint16_t>(rest, 8) & kEncrypted) invalid("'", name, "' is encrypted");
    if (field<uint16_t>(rest, 10) != 0 || compressed != size) {
      invalid("'", name, "' is compressed; torch.save stores entries as they are");
    }
    if (!entries_.emplace(name, Entry{size, offset, field<uint32_t>(rest, 16)}).second) {
      invalid("two entries are named '", name, "'");
    }
    rest.remove_prefix(record_bytes);
  }
}

void ZipArchive::check_total() const {
  uint64_t total = 0;
  for (const auto& [name, entry] : entries_) {
    if (entry.size > file_.size() - total) invalid("its entries claim more bytes than the file has");
    total += entry.size;
  }
}

const ZipArchive::Entry& ZipArchive::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) invalid("there is no entry '", name, "'");
  return found->second;
}

uint64_t ZipArchive::data_offset(const std::string& name, const Entry& entry) const {
  const std::string header = file_.read(entry.header_offset, kLocalBytes);
  if (field<uint32_t>(header, 0) != kLocalHeader) invalid("the header of '", name, "' is damaged");
  const uint64_t offset =
      entry.header_offset + kLocalBytes + field<uint16_t>(header, 26) + field<uint16_t>(header, 28);
  if (offset > file_.size() || entry.size > file_.size() - offset)
    invalid("'", name, "' passes the end of the file");
  return offset;
}

void ZipArchive::read(const std::string& name, void* target) const {
  const Entry& found = entry(name);
  file_.read(data_offset(name, found), target, found.size);
  if (found.crc != 0 && crc32(target, found.size) != found.crc)
    invalid("'", name, "' is damaged: wrong checksum");
}

std::string ZipArchive::read(const std::string& name) const {
  std::string content(entry(name).size, '\0');
  read(name, content.data());
  return content;
}

}  // namespace osprey
