#include "core/io/atomic_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/error.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

size_t files_in(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

class AtomicFileTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  const fs::path folder_ = fs::path(::testing::TempDir()) / "atomic_file";
};

TEST_F(AtomicFileTest, CreatesFoldersAndReplacesTheOldFile) {
  const std::string path = folder_ / "a/b.txt";
  write_file_atomically(path, "old and longer");
  write_file_atomically(path, "new");
  EXPECT_EQ(read_all(path), "new");
  EXPECT_EQ(files_in(folder_ / "a"), 1u);
}

TEST_F(AtomicFileTest, WithoutCommitTheOldFileStaysAndNothingIsLeftBehind) {
  const std::string path = folder_ / "kept.txt";
  write_file_atomically(path, "old");
  {
    AtomicFile file(path);
    file.write("half of the n");
  }
  EXPECT_EQ(read_all(path), "old");
  EXPECT_EQ(files_in(folder_), 1u);
}

TEST_F(AtomicFileTest, AnImpossiblePathIsAUserErrorThatNamesIt) {
  write_file_atomically(folder_ / "file", "");
  try {
    write_file_atomically(folder_ / "file/below", "text");
    FAIL() << "a file was taken for a folder";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("file/below: cannot create the file"), std::string::npos);
  }
}

}  // namespace
}  // namespace osprey
