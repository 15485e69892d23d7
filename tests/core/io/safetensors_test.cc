#include "core/io/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "tests/golden.h"

namespace osprey {
namespace {

std::string temp_path(const std::string& name) { return ::testing::TempDir() + name; }

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string with_header(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

// What read_safetensors says about a file with these bytes.
std::string complaint(const std::string& bytes) {
  const std::string path = temp_path("malformed.safetensors");
  write_bytes(path, bytes);
  try {
    read_safetensors(path);
  } catch (const UserError& error) {
    const std::string what = error.what();
    EXPECT_TRUE(starts_with(what, path + ": not a valid safetensors file: ")) << what;
    return what;
  }
  return "accepted";
}

Tensor random_bytes(Shape shape, DType dtype, uint64_t seed) {
  Tensor tensor(std::move(shape), dtype);
  CounterRng rng(seed);
  auto* bytes = static_cast<uint8_t*>(tensor.mutable_raw());
  for (size_t i = 0; i < tensor.bytes(); ++i) {
    bytes[i] = static_cast<uint8_t>(dtype == DType::kBool ? rng.randint(2) : rng.randint(256));
  }
  return tensor;
}

TEST(SafetensorsTest, EveryDtypeAndShapeComesBackBitwiseInOrder) {
  Safetensors written;
  uint64_t seed = 0;
  for (const DType dtype : {DType::kU8, DType::kF64, DType::kF32, DType::kBool, DType::kF16, DType::kBF16,
                            DType::kI64, DType::kI32}) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{0}, Shape{2, 0, 5}, Shape{1, 2, 3, 5}}) {
      written.tensors.emplace_back(str_cat(dtype, to_string(shape)), random_bytes(shape, dtype, ++seed));
    }
  }
  written.metadata = {{"config", "a: \"b\"\nc: 'ü'\n"}, {"epoch", "3"}};
  const std::string path = temp_path("round_trip.safetensors");
  write_safetensors(path, written);
  const Safetensors read = read_safetensors(path);
  EXPECT_EQ(read.metadata, written.metadata);
  EXPECT_EQ(read_safetensors_metadata(path), written.metadata);
  ASSERT_EQ(read.tensors.size(), written.tensors.size());
  for (size_t i = 0; i < read.tensors.size(); ++i) {
    EXPECT_EQ(read.tensors[i].first, written.tensors[i].first);
    EXPECT_TRUE(bitwise_equal(read.tensors[i].second, written.tensors[i].second)) << read.tensors[i].first;
  }
}

TEST(SafetensorsTest, AnEmptyFileOfNoTensorsIsValid) {
  const std::string path = temp_path("empty.safetensors");
  write_safetensors(path, {});
  EXPECT_TRUE(read_safetensors(path).tensors.empty());
}

TEST(SafetensorsTest, WritingRefusesDuplicateAndReservedNames) {
  const Tensor one = Tensor::from({1.0f}, {1});
  EXPECT_THROW(write_safetensors(temp_path("x"), {{{"a", one}, {"a", one}}, {}}), Error);
  EXPECT_THROW(write_safetensors(temp_path("x"), {{{"__metadata__", one}}, {}}), Error);
  EXPECT_THROW(write_safetensors(temp_path("x"), {{{"a", Tensor()}}, {}}), Error);
}

TEST(SafetensorsTest, ReadsWhatTheReferenceWrote) {
  const auto golden = testing::Golden::open_shipped("ops/masks");
  EXPECT_EQ(golden.tensor("paste/boxes").shape(), (Shape{9, 4}));
  EXPECT_EQ(golden.tensor("encode/area").dtype(), DType::kI64);
  EXPECT_EQ(golden.integer("paste", "img_w"), 80);
}

TEST(SafetensorsTest, EveryTruncationIsAnError) {
  Safetensors content;
  content.tensors = {{"weight", testing::uniform({2, 3}, -1, 1, 1)},
                     {"mask", Tensor::zeros({5}, DType::kU8)}};
  const std::string path = temp_path("whole.safetensors");
  write_safetensors(path, content);
  const std::string bytes = read_bytes(path);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_NE(complaint(bytes.substr(0, length)), "accepted") << "cut to " << length << " bytes";
  }
  EXPECT_NE(complaint(bytes + "x").find("belong to no tensor"), std::string::npos);
}

TEST(SafetensorsTest, FlippedBytesNeverCrash) {
  Safetensors content;
  content.tensors = {{"weight", testing::uniform({2, 3}, -1, 1, 1)},
                     {"mask", Tensor::zeros({5}, DType::kBool)}};
  content.metadata = {{"epoch", "1"}};
  const std::string path = temp_path("fuzzed.safetensors");
  write_safetensors(path, content);
  const std::string bytes = read_bytes(path);
  CounterRng rng(7);
  for (int trial = 0; trial < 500; ++trial) {
    std::string damaged = bytes;
    for (int64_t flips = 1 + rng.randint(3); flips > 0; --flips) {
      damaged[static_cast<size_t>(rng.randint(static_cast<int64_t>(damaged.size())))] =
          static_cast<char>(rng.randint(256));
    }
    complaint(damaged);
  }
}

TEST(SafetensorsTest, HostileHeadersAreNamed) {
  const auto entry = [](const std::string& shape, const std::string& offsets) {
    return R"({"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
  };
  const std::string eight(8, 'x');
  const std::pair<std::string, const char*> cases[] = {
      {std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8), "at most 100000000 are allowed"},
      {with_header("{\"a\":", ""), "bad JSON"},
      {with_header("[]", ""), "not a JSON object"},
      {with_header("{\"a\":1}", ""), "'dtype' is missing"},
      {with_header("{\"a\":" + entry("[1]", "[0,4]") + ",\"b\":" + entry("[1]", "[2,6]") + "}", eight),
       "overlaps"},
      {with_header("{\"a\":" + entry("[1]", "[4,8]") + "}", eight), "gap"},
      {with_header("{\"a\":" + entry("[3]", "[0,12]") + "}", eight), "outside the 8 bytes"},
      {with_header("{\"a\":" + entry("[1]", "[8,4]") + "}", eight), "outside the 8 bytes"},
      {with_header("{\"a\":" + entry("[3]", "[0,8]") + "}", eight), "needs 12 bytes"},
      {with_header("{\"a\":" + entry("[-2]", "[0,8]") + "}", eight), "non-negative integers"},
      {with_header("{\"a\":" + entry("[1.5]", "[0,8]") + "}", eight), "non-negative integers"},
      {with_header("{\"a\":" + entry("[2]", "[0,8,9]") + "}", eight), "[begin, end]"},
      {with_header("{\"a\":" + entry("[4611686018427387904,4]", "[0,0]") + "}", ""), "overflows"},
      {with_header("{\"a\":" + entry("[2]", "[0,8]") + ",\"a\":" + entry("[2]", "[0,8]") + "}", eight),
       "duplicate name 'a'"},
      {with_header(R"({"a":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}})", eight),
       "unsupported dtype \"F8_E4M3\""},
      {with_header(R"({"__metadata__":{"epoch":3}})", ""), "__metadata__ 'epoch' must be a string"},
      {with_header(std::string(1000, '[') + std::string(1000, ']'), ""), "nested too deeply"},
  };
  for (const auto& [bytes, expected] : cases) {
    EXPECT_NE(complaint(bytes).find(expected), std::string::npos)
        << complaint(bytes) << "\n  wanted: " << expected;
  }
}

TEST(SafetensorsTest, AMissingFileIsNamed) {
  try {
    read_safetensors("/no/such/file.safetensors");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "/no/such/file.safetensors: cannot open the file: No such file or directory");
  }
}

}  // namespace
}  // namespace osprey
