#include "tests/core/config/config_files.h"

namespace osprey {
namespace {

const char* const kData = R"(
data_root: data/coco
scale: [1333, 800]
pipeline: [{type: Load}, {type: Resize, img_scale: '${scale}'}]
data:
  train: {ann_file: '${data_root}/annotations/train.json', pipeline: '${pipeline}'}
  root: ${data_root}
)";

using Ints = std::vector<int>;

TEST(References, KeepTheTypeAloneAndInsertTextInsideAString) {
  const ConfigNode cfg = parse_config(kData);
  const ConfigNode train = cfg["data"]["train"];
  EXPECT_EQ(train.get<std::string>("ann_file"), "data/coco/annotations/train.json");
  EXPECT_EQ(train["pipeline"].at(1).get<Ints>("img_scale"), (Ints{1333, 800}));
  EXPECT_EQ(cfg["data"].get<std::string>("root"), "data/coco");
  EXPECT_EQ(train["pipeline"].at(1).path(), "data.train.pipeline[1]");
}

TEST(References, FollowOverrides) {
  const ConfigNode cfg = parse_config(kData, "x.yaml", {"data_root=/big", "scale=[320,256]"});
  EXPECT_EQ(cfg["data"]["train"].get<std::string>("ann_file"), "/big/annotations/train.json");
  EXPECT_EQ(cfg["data"]["train"]["pipeline"].at(1).get<Ints>("img_scale"), (Ints{320, 256}));
}

TEST(References, EditsOfAReferenceApplyToItsCopy) {
  const ConfigNode cfg = parse_config(kData, "x.yaml", {"data.train.pipeline.1.img_scale=[4,5]"});
  EXPECT_EQ(cfg["data"]["train"]["pipeline"].at(1).get<Ints>("img_scale"), (Ints{4, 5}));
  EXPECT_EQ(cfg["pipeline"].at(1).get<Ints>("img_scale"), (Ints{1333, 800}));
  EXPECT_EQ(parse_error(kData, {"data.train.pipeline.2.x=1"}),
            "--cfg-options data.train.pipeline.2.x=1: data.train.pipeline: index 2 is past the end of a list "
            "of 2 (x.yaml:6:70)");
}

TEST(References, ErrorsAddWhereTheNamedKeyWasSet) {
  const ConfigNode cfg = parse_config(kData, "x.yaml", {"data_root=/big"});
  EXPECT_EQ(
      error_of([&] { cfg["data"]["train"]["ann_file"].fail("no such file"); }),
      "x.yaml:6:21: data.train.ann_file: no such file (data_root is set in --cfg-options data_root=/big)");
}

TEST(References, ADoubledDollarIsLiteral) {
  EXPECT_EQ(parse_config("a: 'x $${HOME} $y'\n").get<std::string>("a"), "x ${HOME} $y");
}

TEST(References, InsertedNumbersMakeAString) {
  const ConfigNode cfg = parse_config("n: 5\nname: ${n}${n}\n");
  EXPECT_EQ(cfg.get<std::string>("name"), "55");
}

TEST(References, ErrorsNameThePlace) {
  EXPECT_EQ(parse_error("data_root: x\na: '${data_rot}/y'\n"),
            "x.yaml:2:4: a: '${data_rot}' names no key of this config. Did you mean '${data_root}'?");
  EXPECT_EQ(parse_error("a: {b: '${c}'}\nc: ${d}\nd: '${a}'\n"),
            "x.yaml:1:4: a: references form a cycle: a -> a.b -> c -> d -> a");
  EXPECT_EQ(parse_error("a: ${a}\n"), "x.yaml:1:4: a: references form a cycle: a -> a");
  EXPECT_EQ(parse_error("a: {x: 1}\nb: p/${a}\n"),
            "x.yaml:2:4: b: '${a}' is a map (x.yaml:1:4), which cannot stand inside a string");
  EXPECT_EQ(parse_error("a: 'p/${b'\n"),
            "x.yaml:1:4: a: '${' without '}' in 'p/${b' ('$${' is a literal '${')");
}

TEST(References, WhatTheyUseCountsAsRead) {
  const ConfigNode cfg =
      parse_config("root: x\nvars: {a: 1, typo: 2}\npath: ${root}/y\nn: ${vars.a}\n", "x.yaml");
  cfg.get<std::string>("path");
  cfg.get<int>("n");
  EXPECT_EQ(error_of([&] { require_all_read(cfg); }),
            "x.yaml:2:14: vars.typo: unknown key: nothing reads this section");
}

TEST(References, AVariableWhoseUsesWereReplacedIsUnreadOnlyFromTheCommandLine) {
  const std::string text = "root: x\npath: ${root}/y\n";
  const ConfigNode cfg = parse_config(text, "x.yaml", {"path=z"});
  cfg.get<std::string>("path");
  EXPECT_NO_THROW(require_all_read(cfg));
  const ConfigNode vain = parse_config(text, "x.yaml", {"path=z", "root=w"});
  vain.get<std::string>("path");
  EXPECT_EQ(error_of([&] { require_all_read(vain); }),
            "--cfg-options root=w: root: unknown key; known here: path");
}

}  // namespace
}  // namespace osprey
