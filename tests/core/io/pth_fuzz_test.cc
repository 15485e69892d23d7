// Mutated files of PyTorch: whatever they say, reading them ends, in a value or in a UserError that names the
// file. More trials: OSPREY_FUZZ_TRIALS=100000, best with --config=sanitize.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/io/pth.h"
#include "core/io/zip_archive.h"
#include "core/runner/pth_checkpoint.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

int trials() {
  const char* wanted = std::getenv("OSPREY_FUZZ_TRIALS");
  return wanted ? std::atoi(wanted) : 800;
}

// Everything that Osprey does with such a file.
void read_everything(const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "mutated.pth";
  std::ofstream(path, std::ios::binary) << bytes;
  try {
    from_pth(read_pth(path), path);
  } catch (const UserError& error) {
    EXPECT_TRUE(starts_with(error.what(), path + ": ")) << error.what();
  }
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : rng_(seed) {}

  // Overwrites a few bytes of [begin, end): with noise, edges of ranges, or an opcode.
  void overwrite(std::string& bytes, size_t begin, size_t end) {
    static const std::string kTelling =
        std::string("\x00\x01\x7f\x80\xff", 5) +
        "(tQRbcusedlap0123hjqrXBCUTGIJKMNFL}]).\x81\x85\x86\x87\x88\x8a\x8b\x8e\x93\x94";
    for (int64_t count = 1 + rng_.randint(4); count > 0; --count) {
      const size_t at = begin + below(end - begin);
      bytes[at] = rng_.randint(2) ? kTelling[below(kTelling.size())] : static_cast<char>(rng_.randint(256));
    }
  }
  // Deletes, repeats or moves a stretch.
  void rearrange(std::string& bytes, size_t begin) {
    const size_t at = begin + below(bytes.size() - begin),
                 length = 1 + below(std::min<size_t>(40, bytes.size() - at));
    const std::string part = bytes.substr(at, length);
    if (rng_.randint(3) > 0) bytes.erase(at, length);
    if (rng_.randint(2) > 0) bytes.insert(begin + below(bytes.size() - begin), part);
  }

 private:
  size_t below(size_t limit) { return static_cast<size_t>(rng_.randint(static_cast<int64_t>(limit))); }
  CounterRng rng_;
};

// The legacy format has no checksum: every mutation reaches the pickle machine.
TEST(PthFuzz, LegacyFiles) {
  const std::string original = read_all(Golden::find_file("checkpoint/misc_legacy.pth"));
  const size_t behind_magic = 15;
  for (int trial = 0; trial < trials(); ++trial) {
    Mutator mutator(static_cast<uint64_t>(trial));
    std::string bytes = original;
    mutator.overwrite(bytes, behind_magic, bytes.size());
    if (trial % 2) mutator.rearrange(bytes, behind_magic);
    read_everything(bytes);
  }
}

// In the zip format the checksum is repaired after each mutation of data.pkl, as an attacker would.
TEST(PthFuzz, PicklesOfZipFilesWithARightChecksum) {
  const std::string original = read_all(Golden::find_file("checkpoint/misc_zip.pth"));
  const size_t local = original.find("PK\x03\x04"), central = original.find("PK\x01\x02");
  uint16_t name = 0, extra = 0;
  uint32_t size = 0;
  std::memcpy(&name, &original[local + 26], 2);
  std::memcpy(&extra, &original[local + 28], 2);
  std::memcpy(&size, &original[central + 24], 4);
  const size_t begin = local + 30 + name + extra;
  for (int trial = 0; trial < trials(); ++trial) {
    Mutator mutator(1000000 + static_cast<uint64_t>(trial));
    std::string bytes = original;
    mutator.overwrite(bytes, begin, begin + size);
    const uint32_t crc = crc32(&bytes[begin], size);
    std::memcpy(&bytes[central + 16], &crc, 4);
    read_everything(bytes);
  }
}

// Sizes, offsets, counts and names of the directory.
TEST(PthFuzz, DirectoriesOfZipFiles) {
  const std::string original = read_all(Golden::find_file("checkpoint/misc_zip.pth"));
  const size_t directory = original.find("PK\x01\x02");
  for (int trial = 0; trial < trials(); ++trial) {
    Mutator mutator(2000000 + static_cast<uint64_t>(trial));
    std::string bytes = original;
    mutator.overwrite(bytes, directory, bytes.size());
    if (trial % 4 == 0) mutator.rearrange(bytes, directory);
    read_everything(bytes);
  }
}

// A checkpoint with an optimizer and hooks, as we write it: what mutates are the types of its values.
TEST(PthFuzz, TrainingStates) {
  Checkpoint state;
  state.meta.recorded = true;
  state.meta.classes = {"a", "b"};
  state.weights.put("w", testing::uniform({2, 3}, 0, 1, 1));
  state.optimizer.put("w.exp_avg", testing::uniform({2, 3}, 0, 1, 2));
  state.optimizer.put("w.step", Tensor::from<int64_t>({3}, {}));
  state.param_groups = {{{{"lr", {0.1}}, {"betas", {0.9, 0.99}}}, {"w"}}};
  state.hooks["EMAHook"].put("average.w", testing::uniform({2, 3}, 0, 1, 3));
  const std::string path = ::testing::TempDir() + "state.pth";
  write_checkpoint(path, state);
  const std::string original = read_all(path);
  const size_t begin = original.find(std::string("\x80\x02}", 3)), central = original.find("PK\x01\x02");
  uint32_t size = 0;
  std::memcpy(&size, &original[central + 24], 4);
  for (int trial = 0; trial < trials(); ++trial) {
    Mutator mutator(3000000 + static_cast<uint64_t>(trial));
    std::string bytes = original;
    mutator.overwrite(bytes, begin, begin + size);
    const uint32_t crc = crc32(&bytes[begin], size);
    std::memcpy(&bytes[central + 16], &crc, 4);
    read_everything(bytes);
  }
}

// Few bytes that stand for much: each must end early instead of filling the memory.
TEST(PthFuzz, BombsAreDefused) {
  const std::string magic = read_all(Golden::find_file("checkpoint/misc_legacy.pth")).substr(0, 15) +
                            std::string("\x80\x02M\xe9\x03.") + std::string("\x80\x02}.");
  const auto complaint = [&](const std::string& pickle) -> std::string {
    const std::string path = ::testing::TempDir() + "bomb.pth";
    std::ofstream(path, std::ios::binary) << magic << "\x80\x02" << pickle << ".\x80\x02].";
    try {
      read_pth(path);
    } catch (const UserError& error) {
      return error.what();
    }
    return "accepted";
  };
  // A list of 65536 items copied into a set again and again.
  std::string copies = "](" + std::string(65536, 'N') + "eq\x01";
  for (int i = 0; i < 20000; ++i) copies += "cbuiltins\nset\nh\x01\x85R0";
  EXPECT_NE(complaint(copies).find("more than 256 MiB"), std::string::npos);
  // A tuple that doubles: cheap as references, and never walked.
  std::string doubling = "N";
  for (int i = 0; i < 200; ++i) doubling += "2\x86";
  EXPECT_EQ(complaint(doubling), "accepted");
}

}  // namespace
}  // namespace osprey
