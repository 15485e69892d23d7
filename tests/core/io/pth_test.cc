#include "core/io/pth.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/io/file_bytes.h"
#include "core/io/pickle_writer.h"
#include "core/io/zip_archive.h"
#include "core/io/zip_writer.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string write_temp(const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "damaged.pth";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// "accepted", or what read_pth says about a file with these bytes.
std::string complaint(const std::string& bytes) {
  const std::string path = write_temp(bytes);
  try {
    pth_state_dict(read_pth(path), path);
  } catch (const UserError& error) {
    EXPECT_TRUE(starts_with(error.what(), path + ": ")) << error.what();
    return error.what();
  }
  return "accepted";
}

std::string legacy(const std::string& pickle, const std::string& keys = "\x80\x02].",
                   const std::string& data = "") {
  const std::string magic = read_all(Golden::find_file("checkpoint/misc_legacy.pth")).substr(0, 15);
  return magic + std::string("\x80\x02M\xe9\x03.") + std::string("\x80\x02}.") + pickle + keys + data;
}

class PthFixtureTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::string path() const { return Golden::find_file(std::string("checkpoint/") + GetParam()); }
};

TEST_P(PthFixtureTest, EveryViewAndDtypeIsWhatPyTorchWrote) {
  const Golden golden = Golden::open("checkpoint/misc_expected");
  const auto tensors = pth_state_dict(read_pth(path()), path());
  ASSERT_EQ(tensors.size(), golden.names().size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(tensor.shape(), golden.json()["shapes"][name].get<Shape>()) << name;
    const Tensor& expected = golden.tensor(name);
    EXPECT_TENSOR_EQ(tensor.reshape(expected.shape()), expected) << name;
    EXPECT_EQ(tensor.dtype(), name == "bf16" ? DType::kBF16 : expected.dtype()) << name;
  }
}

TEST_P(PthFixtureTest, PlainObjectsKeepTheirValues) {
  const PthFile file = read_pth(path());
  const PickleObject& meta = *file.root->find("meta");
  EXPECT_TRUE(meta.find("none")->is(PickleKind::kNone));
  EXPECT_EQ(meta.find("true")->integer, 1);
  EXPECT_EQ(meta.find("big")->number, 1180591620717411303424.0);
  EXPECT_EQ(meta.find("neg")->integer, -5);
  EXPECT_EQ(meta.find("pi")->number, 3.141592653589793);
  EXPECT_EQ(meta.find("text")->text, "h\xc3\xa9llo \xe4\xb8\xad");
  EXPECT_EQ(meta.find("tuple")->items[1]->items[1]->integer, 3);
  EXPECT_EQ(meta.find("list")->items[2]->items[0]->number, 2.5);
  EXPECT_EQ(meta.find("set")->items.size(), 2u);
  EXPECT_EQ(meta.find("bytes")->text, std::string("\x00\xff", 2));
  EXPECT_EQ(meta.find("absent"), nullptr);
}

TEST_P(PthFixtureTest, EveryTruncationIsAnError) {
  const std::string bytes = read_all(path());
  for (size_t length = 0; length < bytes.size(); length += 1 + length / 20) {
    EXPECT_NE(complaint(bytes.substr(0, length)), "accepted") << "cut to " << length << " bytes";
  }
}

TEST_P(PthFixtureTest, FlippedBytesNeverCrash) {
  const std::string bytes = read_all(path());
  CounterRng rng(3);
  for (int trial = 0; trial < 400; ++trial) {
    std::string damaged = bytes;
    for (int64_t flips = 1 + rng.randint(4); flips > 0; --flips) {
      damaged[rng.randint(static_cast<int64_t>(damaged.size()))] = static_cast<char>(rng.randint(256));
    }
    complaint(damaged);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, PthFixtureTest, ::testing::Values("misc_zip.pth", "misc_legacy.pth"));

TEST(PthTest, ViewsOfOneStorageShareIt) {
  const std::string path = Golden::find_file("checkpoint/misc_zip.pth");
  const auto tensors = pth_state_dict(read_pth(path), path);
  ASSERT_EQ(tensors[0].first, "plain");
  EXPECT_EQ(tensors[1].first, "transposed");
  EXPECT_EQ(tensors[0].second.to_doubles()[6], tensors[1].second.to_doubles()[1]);
}

TEST(PthTest, ADamagedStorageIsFoundByItsChecksum) {
  std::string bytes = read_all(Golden::find_file("checkpoint/misc_zip.pth"));
  const size_t data = bytes.find("misc_zip/data/0") + 15;
  bytes[data + 60] =
      static_cast<char>(bytes[data + 60] ^ 1);  // within the 96 bytes of floats after the padding
  EXPECT_NE(complaint(bytes).find("wrong checksum"), std::string::npos) << complaint(bytes);
}

TEST(PthTest, ForeignFunctionsAreNamedAndNotCalled) {
  const std::string evil =
      std::string("\x80\x02") + "cos\nsystem\n" + std::string("X\x04\x00\x00\x00true\x85R.", 12);
  const std::string what = complaint(legacy(evil));
  EXPECT_NE(what.find("the pickle calls 'os.system'; only tensors and plain containers are read"),
            std::string::npos)
      << what;
}

TEST(PthTest, MalformedPicklesAreErrors) {
  EXPECT_NE(complaint(legacy("\x80\x02\xff.")).find("unknown opcode 255"), std::string::npos);
  EXPECT_NE(complaint(legacy("\x80\x02.")).find("the stack is empty"), std::string::npos);
  EXPECT_NE(complaint(legacy("\x80\x02t.")).find("there is no mark"), std::string::npos);
  EXPECT_NE(complaint(legacy("\x80\x02h\x07.")).find("memo entry 7 is missing"), std::string::npos);
  EXPECT_NE(complaint(legacy("\x80\x02Ia\n.")).find("'a' is not a number"), std::string::npos);
  EXPECT_NE(complaint(legacy("\x80\x02}K\x01"
                             "e.")),
            "accepted");
  EXPECT_NE(complaint(legacy("\x80\x02}.")).find("no state_dict with tensors"), std::string::npos);
  EXPECT_NE(complaint("neither of the two").find("not a file of torch.save"), std::string::npos);
}

TEST(PthTest, DeepNestingAndCyclesAreHarmless) {
  complaint(legacy("\x80\x02" + std::string(200000, ']') + std::string(199999, 'a') + "."));
  complaint(
      legacy("\x80\x02]q\x01h\x01"
             "a."));
}

// A tensor of the given size, stride and offset on a storage of 4 floats.
std::string one_tensor(const std::string& offset, const std::string& size, const std::string& stride) {
  const std::string key("X\x01\x00\x00\x00k", 6);
  const std::string pickle = std::string("\x80\x02}") + std::string("X\x01\x00\x00\x00w", 6) +
                             "ctorch._utils\n_rebuild_tensor_v2\n((" +
                             std::string("X\x07\x00\x00\x00storage", 12) + "ctorch\nFloatStorage\n" + key +
                             std::string(
                                 "X\x03\x00\x00\x00"
                                 "cpu",
                                 8) +
                             "K\x04NtQ" + offset + size + stride + "\x89}tRs.";
  const std::string count("\x04\x00\x00\x00\x00\x00\x00\x00", 8);
  return legacy(pickle, "\x80\x02]" + key + "a.", count + std::string(16, '\0'));
}

TEST(PthTest, ViewsMustStayWithinTheirStorage) {
  const std::string zero("K\x00", 2), one("K\x01\x85"), four("K\x04\x85");
  EXPECT_EQ(complaint(one_tensor(zero, four, one)), "accepted");
  EXPECT_NE(complaint(one_tensor("K\x01", four, one)).find("reaches outside it"), std::string::npos);
  EXPECT_NE(complaint(one_tensor(zero, four, "K\x02\x85")).find("reaches outside it"), std::string::npos);
  EXPECT_NE(complaint(one_tensor("J\xff\xff\xff\xff", four, one)).find("reaches outside it"),
            std::string::npos);
  EXPECT_NE(complaint(one_tensor(zero, "J\xff\xff\xff\xff\x85", one)).find("negative size"),
            std::string::npos);
  EXPECT_NE(complaint(one_tensor(zero, four, ")")).find("another rank"), std::string::npos);
  EXPECT_NE(
      complaint(one_tensor(zero, "J\xff\xff\xff\x7f\x85", std::string("K\x00\x85", 3))).find("far larger"),
      std::string::npos);
}

TEST(ZipArchiveTest, EntriesThatShareBytesAreRefused) {
  // A directory whose every record points at the first entry: the zip bomb that needs no compression.
  std::string bytes = read_all(Golden::find_file("checkpoint/misc_zip.pth"));
  const uint32_t huge = 0x7fffffff;
  const size_t record = bytes.find("PK\x01\x02");
  std::memcpy(bytes.data() + record + 20, &huge, 4);
  std::memcpy(bytes.data() + record + 24, &huge, 4);
  EXPECT_NE(complaint(bytes).find("claim more bytes than the file has"), std::string::npos)
      << complaint(bytes);
}

TEST(ZipArchiveTest, CrcIsTheStandardOne) {
  EXPECT_EQ(crc32("123456789", 9), 0xcbf43926u);
  EXPECT_EQ(crc32("", 0), 0u);
}

// --- Writing

// Every object of `a` has its like in `b`; storages are compared by the tensors on them.
void expect_same(const PickleObject& a, const PickleObject& b, const std::string& where) {
  ASSERT_EQ(static_cast<int>(a.kind), static_cast<int>(b.kind)) << where;
  EXPECT_EQ(a.integer, b.integer) << where;
  EXPECT_EQ(a.number, b.number) << where;
  EXPECT_EQ(a.text, b.text) << where;
  EXPECT_EQ(a.ordered, b.ordered) << where;
  if (a.is(PickleKind::kTensor)) {
    EXPECT_TRUE(bitwise_equal(a.tensor, b.tensor)) << where;
    return;
  }
  ASSERT_EQ(a.items.size(), b.items.size()) << where;
  for (size_t i = 0; i < a.items.size(); ++i)
    expect_same(*a.items[i], *b.items[i], str_cat(where, "/", i, " ", a.items[i]->text));
}

TEST_P(PthFixtureTest, WhatIsWrittenBackIsTheSame) {
  const std::string copy = ::testing::TempDir() + "copy.pth";
  const PthFile original = read_pth(path());
  write_pth(copy, *original.root);
  expect_same(*original.root, *read_pth(copy).root, "root");
}

TEST(PthWriterTest, ASharedStorageIsWrittenOnce) {
  const std::string path = ::testing::TempDir() + "shared.pth";
  const Tensor whole = testing::uniform({1000}, 0, 1, 1);
  PickleArena arena;
  PickleObject* root = arena.add(PickleKind::kDict);
  root->put(arena.text("whole"), arena.tensor(whole));
  root->put(arena.text("rows"), arena.tensor(whole.reshape({10, 100}).slice(3, 5)));
  root->put(arena.text("empty"), arena.tensor(Tensor({0, 4}, DType::kF16)));
  write_pth(path, *root);
  EXPECT_LT(read_all(path).size(), 6000u);
  const PthFile back = read_pth(path);
  EXPECT_TENSOR_EQ(back.root->find("rows")->tensor, whole.reshape({10, 100}).slice(3, 5));
  EXPECT_TRUE(back.root->find("rows")->tensor.shares_storage(back.root->find("whole")->tensor));
  EXPECT_EQ(back.root->find("empty")->tensor.shape(), (Shape{0, 4}));
}

// As Python's pickletools disassembles torch.save's: protocol 2, integers in the shortest form but one.
TEST(PickleWriterTest, WritesPythonsOpcodes) {
  PickleArena arena;
  PickleObject* list = arena.add(PickleKind::kList);
  for (const int64_t value : {int64_t{7}, int64_t{-1}, int64_t{1} << 40})
    list->items.push_back(arena.integer(value));
  list->items.push_back(arena.number(1.5));
  list->items.push_back(arena.boolean(true));
  list->items.push_back(arena.add(PickleKind::kNone));
  const std::string expected(
      "\x80\x02]r\x00\x00\x00\x00(K\x07J\xff\xff\xff\xff\x8a\x08\x00\x00\x00\x00\x00\x01\x00\x00"
      "G\x3f\xf8\x00\x00\x00\x00\x00\x00\x88N"
      "e.",
      39);
  EXPECT_EQ(write_pickle(*list, nullptr), expected);
}

TEST(PickleWriterTest, SharedObjectsAreWrittenOnceAndCyclesEnd) {
  PickleArena arena;
  PickleObject* inner = arena.add(PickleKind::kList);
  for (int i = 0; i < 100; ++i) inner->items.push_back(arena.integer(i));
  PickleObject* outer = arena.add(PickleKind::kList);
  outer->items = {inner, inner, outer};
  const std::string bytes = write_pickle(*outer, nullptr);
  EXPECT_LT(bytes.size(), 250u);
  PickleArena back;
  const PickleObject* read = parse_pickle(bytes, "x", back).first;
  EXPECT_EQ(read->items[0], read->items[1]);
  EXPECT_EQ(read->items[2], read);
  PickleObject* deep = arena.add(PickleKind::kTuple);
  for (int i = 0; i < 1000; ++i) {
    PickleObject* around = arena.add(PickleKind::kTuple);
    around->items = {deep};
    deep = around;
  }
  EXPECT_THROW(write_pickle(*deep, nullptr), Error);
}

TEST(ZipWriterTest, EntriesAreAlignedAndMoreThan65535OfThemNeedZip64) {
  const std::string path = ::testing::TempDir() + "many.zip";
  ZipWriter writer(path);
  for (int i = 0; i < 70000; ++i) writer.add(std::to_string(i), i % 7 == 0 ? "seven" : "");
  writer.commit();
  const FileBytes file(path);
  const ZipArchive archive(file);
  EXPECT_EQ(archive.entries().size(), 70000u);
  EXPECT_EQ(archive.read("69993"), "seven");
  EXPECT_EQ(archive.read("69994"), "");
  const std::string bytes = read_all(path);
  EXPECT_EQ(bytes.find("seven") % 64, 0u);
}

// The tiny HTC that mmcv saved; too large to ship, so only where the reference's folder is.
TEST(PthTest, MmcvCheckpointsInBothFormatsAreEqual) {
  std::string zip, old;
  try {
    zip = Golden::find_file("checkpoint/htc_tiny_mmcv.pth");
    old = Golden::find_file("checkpoint/htc_tiny_legacy.pth");
  } catch (const Error&) {
    if (std::getenv("OSPREY_GOLDEN_DIR")) throw;  // a named folder must have it
    GTEST_SKIP() << "htc_tiny_*.pth is not here";
  }
  const PthFile file = read_pth(zip);
  const auto tensors = pth_state_dict(file, zip), legacy_tensors = pth_state_dict(read_pth(old), old);
  ASSERT_EQ(tensors.size(), legacy_tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(tensors[i].first, legacy_tensors[i].first);
    EXPECT_TRUE(bitwise_equal(tensors[i].second, legacy_tensors[i].second)) << tensors[i].first;
  }
  const Golden golden = Golden::open("checkpoint/htc_tiny_expected"),
               final = Golden::open("train/htc_10iter");
  size_t compared = 0;
  for (const auto& [name, tensor] : tensors) {
    if (final.has("final/" + name)) {
      EXPECT_TENSOR_EQ(tensor, final.tensor("final/" + name).reshape(tensor.shape())) << name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 100u);
  const auto names = golden.json()["param_names"].get<std::vector<std::string>>();
  const PickleObject& state = *file.root->find("optimizer")->find("state");
  for (size_t i = 0; i + 1 < state.items.size(); i += 2) {
    const std::string name = "momentum/" + names.at(static_cast<size_t>(state.items[i]->integer));
    const PickleObject* momentum = state.items[i + 1]->find("momentum_buffer");
    if (!golden.has(name)) continue;
    const Tensor& expected = golden.tensor(name);
    EXPECT_TENSOR_EQ(momentum->tensor.reshape({-1}).slice(0, expected.numel()), expected) << name;
  }
  EXPECT_EQ(file.root->find("meta")->find("epoch")->integer, 1);
  EXPECT_EQ(file.root->find("meta")->find("CLASSES")->items[1]->text, "b");
}

}  // namespace
}  // namespace osprey
