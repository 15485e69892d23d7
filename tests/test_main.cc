#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

// Tests write below TempDir(): a folder of this process alone, gone with it.
int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  std::string folder = ::testing::TempDir() + "osprey_test_XXXXXX";  // TempDir() ends in a slash
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  ::setenv("TEST_TMPDIR", folder.c_str(), 1);
  const int result = RUN_ALL_TESTS();
  std::filesystem::remove_all(folder);
  return result;
}
