#include "tests/cuda_emulator/arena.h"

#include <signal.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#include "core/base/strings.h"
#include "core/base/work_context.h"
#include "tests/cuda_emulator/fail.h"

namespace osprey::emulator {

const char* running_task = nullptr;

namespace {

constexpr size_t kArenaBytes = size_t{1} << 43;  // 8 TiB of addresses; memory is spent on live blocks only
constexpr size_t kPage = 4096;
constexpr size_t kAlignment = 256;
constexpr unsigned char kPoison = 0xFF;
constexpr unsigned char kTail = 0xA5;

size_t round_up(size_t bytes, size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

void protect(void* pages, size_t bytes, int protection) {
  if (mprotect(pages, bytes, protection) != 0) fail("mprotect failed: too many blocks of device memory?");
}

struct sigaction previous_action;

void on_fault(int signal, siginfo_t* info, void* context) {
  Arena& arena = Arena::get();
  if (arena.contains(info->si_addr)) {
    const Block* block = arena.find(info->si_addr);
    const std::string whose = block ? block->describe() : "no block of device memory";
    fail(running_task ? str_cat(running_task, " touched ", info->si_addr, ": ", whose)
                      : str_cat("host code touched device memory at ", info->si_addr, ": ", whose));
  }
  if (previous_action.sa_flags & SA_SIGINFO) {
    previous_action.sa_sigaction(signal, info, context);
  } else {
    sigaction(SIGSEGV, &previous_action, nullptr);  // faults again on return, in the usual way
  }
}

}  // namespace

std::string Block::describe() const {
  const char* states[] = {"live", "released (queued)", "released"};
  return str_cat(states[static_cast<int>(state)], " block of ", bytes, " bytes at ",
                 static_cast<const void*>(data), " on device ", device,
                 made_by.empty() ? "" : ", made by " + made_by,
                 made ? "" : ", whose allocation is still queued");
}

Arena& Arena::get() {
  static Arena& arena = *new Arena;
  return arena;
}

Arena::Arena() {
  void* addresses = mmap(nullptr, kArenaBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses == MAP_FAILED) fail("cannot reserve addresses for device memory");
  begin_ = next_ = static_cast<char*>(addresses);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, &previous_action);
}

bool Arena::contains(const void* address) const {
  return address >= begin_ && address < begin_ + kArenaBytes;
}

// Addresses for `span` bytes: behind all that came before; once round, between the blocks that still live.
char* Arena::place(size_t span) {
  if (next_ + span > begin_ + kArenaBytes) {
    next_ = begin_;
    std::erase_if(blocks_, [](const auto& entry) { return entry.second.state == Block::State::kReleased; });
  }
  for (auto behind = blocks_.lower_bound(next_);
       behind != blocks_.end() && behind->second.pages < next_ + span; ++behind) {
    next_ = behind->second.pages + behind->second.page_bytes + kPage;
  }
  char* place = next_;
  next_ += span;
  return place;
}

void* Arena::allocate(size_t bytes, int device) {
  const size_t aligned = round_up(bytes, kAlignment), page_bytes = round_up(aligned, kPage);
  char* pages = place(page_bytes + kPage);  // the page behind stays shut
  char* data = pages + page_bytes - aligned;
  blocks_.insert_or_assign(data, Block{data, bytes, device, Block::State::kLive, describe_work(), pages,
                                       page_bytes, /*made=*/false});
  used_[device] += page_bytes;
  return data;
}

void Arena::make(Block& block) {
  protect(block.pages, block.page_bytes, PROT_READ | PROT_WRITE);
  block.made = true;
  open_blocks_.insert(&block);
  std::memset(block.data, kPoison, block.bytes);
  std::memset(block.data + block.bytes, kTail, block.pages + block.page_bytes - block.data - block.bytes);
}

void Arena::release(Block& block) {
  const ArenaOpen open;
  for (const char* tail = block.data + block.bytes; tail < block.pages + block.page_bytes; ++tail) {
    if (static_cast<unsigned char>(*tail) != kTail) {
      fail(str_cat("something wrote past the end of a ", block.describe()));
    }
  }
  used_[block.device] -= block.page_bytes;
  block.state = Block::State::kReleased;
  open_blocks_.erase(&block);
  madvise(block.pages, block.page_bytes, MADV_DONTNEED);
  protect(block.pages, block.page_bytes, PROT_NONE);
}

Block* Arena::find(const void* address) {
  char* byte = const_cast<char*>(static_cast<const char*>(address));
  auto found = blocks_.upper_bound(byte);
  if (found == blocks_.begin()) return nullptr;
  Block& block = std::prev(found)->second;
  return byte <= block.data + block.bytes ? &block : nullptr;
}

void Arena::protect_live(int protection) {
  for (const Block* block : open_blocks_) protect(block->pages, block->page_bytes, protection);
}

void Arena::open() {
  if (open_++ == 0) protect_live(PROT_READ | PROT_WRITE);
}

void Arena::close() {
  if (--open_ == 0) protect_live(PROT_NONE);
}

}  // namespace osprey::emulator
