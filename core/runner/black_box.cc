#include "core/runner/black_box.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <type_traits>

#include "core/base/error.h"
#include "core/io/file_bytes.h"

namespace osprey {
namespace {

constexpr char kMagic[8] = {'O', 'S', 'P', 'R', 'E', 'Y', 'B', '1'};
constexpr size_t kLosses = 32;
constexpr size_t kNameBytes = 40;
constexpr size_t kImageBytes = 512;

struct StoredLoss {
  char name[kNameBytes];
  double value;
};

// As it lies in the file. An entry is whole when both sequence numbers are the same and not 0.
struct Stored {
  uint64_t sequence;
  int64_t iter, epoch;
  double began, seconds, lr, loss_scale, grad_norm;
  uint32_t outcome, losses;
  StoredLoss loss[kLosses];
  char images[kImageBytes];
  uint64_t sequence_again;
};
static_assert(std::is_trivially_copyable_v<Stored>);

struct Layout {
  char magic[8];
  uint32_t entry_bytes, entries;
  Stored entry[BlackBox::kEntries];
};

Layout& layout(void* memory) { return *static_cast<Layout*>(memory); }

bool is_ours(const Layout& file) {
  return std::memcmp(file.magic, kMagic, sizeof kMagic) == 0 && file.entry_bytes == sizeof(Stored) &&
         file.entries == BlackBox::kEntries;
}

bool is_whole(const Stored& entry) { return entry.sequence != 0 && entry.sequence == entry.sequence_again; }

void copy_text(const std::string& text, char* target, size_t bytes) {
  std::memset(target, 0, bytes);
  std::memcpy(target, text.data(), std::min(text.size(), bytes - 1));
}

// A text of at most `bytes`, whatever a damaged file holds.
std::string text_of(const char* stored, size_t bytes) {
  return std::string(stored, std::find(stored, stored + bytes, '\0'));
}

BlackBoxEntry entry_of(const Stored& stored) {
  BlackBoxEntry entry;
  entry.outcome = static_cast<BlackBoxEntry::Outcome>(std::min(stored.outcome, 3U));
  entry.iter = stored.iter;
  entry.epoch = stored.epoch;
  entry.began = stored.began;
  entry.seconds = stored.seconds;
  entry.lr = stored.lr;
  entry.loss_scale = stored.loss_scale;
  entry.grad_norm = stored.grad_norm;
  for (size_t i = 0; i < std::min<size_t>(stored.losses, kLosses); ++i)
    entry.losses.emplace_back(text_of(stored.loss[i].name, kNameBytes), stored.loss[i].value);
  entry.images = text_of(stored.images, kImageBytes);
  return entry;
}

[[noreturn]] void fail(const std::string& path, const char* action, int error) {
  throw UserError(str_cat(path, ": cannot ", action, " the black box: ", std::strerror(error)));
}

}  // namespace

BlackBox::BlackBox(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) fail(path, "open", errno);
  // Blocks that are not there yet would end the process with SIGBUS on a full disk.
  const int refused = ::posix_fallocate(file, 0, sizeof(Layout));
  if (refused == 0) memory_ = ::mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = refused != 0 ? refused : errno;
  ::close(file);
  if (refused != 0) fail(path, "reserve", error);
  if (memory_ == MAP_FAILED) fail(path, "map", error);
  Layout& content = layout(memory_);
  if (!is_ours(content)) {
    std::memset(memory_, 0, sizeof(Layout));
    content.entry_bytes = sizeof(Stored);
    content.entries = kEntries;
    std::memcpy(content.magic, kMagic, sizeof kMagic);
  }
  for (const Stored& entry : content.entry) {
    if (is_whole(entry)) sequence_ = std::max(sequence_, entry.sequence);
  }
}

BlackBox::~BlackBox() { ::munmap(memory_, sizeof(Layout)); }

void BlackBox::begin(const BlackBoxEntry& entry) {
  ++sequence_;
  write(entry);
}

void BlackBox::finish(const BlackBoxEntry& entry) { write(entry); }

// The process may end between any two stores: the entry is not whole until the last.
void BlackBox::write(const BlackBoxEntry& entry) {
  Stored& stored = layout(memory_).entry[sequence_ % kEntries];
  stored.sequence = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  stored.sequence_again = sequence_;
  stored.iter = entry.iter;
  stored.epoch = entry.epoch;
  stored.began = entry.began;
  stored.seconds = entry.seconds;
  stored.lr = entry.lr;
  stored.loss_scale = entry.loss_scale;
  stored.grad_norm = entry.grad_norm;
  stored.outcome = static_cast<uint32_t>(entry.outcome);
  // The total is the last: it stays when there are too many.
  const size_t count = std::min(entry.losses.size(), kLosses);
  stored.losses = static_cast<uint32_t>(count);
  for (size_t i = 0; i < count; ++i) {
    const auto& [name, value] = i + 1 == count ? entry.losses.back() : entry.losses[i];
    copy_text(name, stored.loss[i].name, kNameBytes);
    stored.loss[i].value = value;
  }
  copy_text(entry.images, stored.images, kImageBytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  stored.sequence = sequence_;
}

std::vector<BlackBoxEntry> read_black_box(const std::string& path) {
  const FileBytes file(path);
  if (file.size() != sizeof(Layout)) throw UserError(path + ": is no black box of this version of Osprey");
  const auto content = std::make_unique<Layout>();
  file.read(0, content.get(), sizeof(Layout));
  if (!is_ours(*content)) throw UserError(path + ": is no black box of this version of Osprey");
  std::vector<const Stored*> whole;
  for (const Stored& entry : content->entry) {
    if (is_whole(entry)) whole.push_back(&entry);
  }
  std::sort(whole.begin(), whole.end(),
            [](const Stored* a, const Stored* b) { return a->sequence < b->sequence; });
  std::vector<BlackBoxEntry> entries;
  for (const Stored* entry : whole) entries.push_back(entry_of(*entry));
  return entries;
}

}  // namespace osprey
