#include "tests/core/config/config_files.h"

namespace osprey {
namespace {

ConfigNode value_of(const std::string& text) { return parse_config("", "x.yaml", {"v=" + text})["v"]; }

// The grammar of mmcv's DictAction (1.x, mmcv/utils/config.py).
TEST(Overrides, ScalarsFollowDictAction) {
  EXPECT_EQ(value_of("1").as<int>(), 1);
  EXPECT_EQ(value_of("1e-3").as<double>(), 1e-3);
  EXPECT_EQ(value_of("-2.5").as<double>(), -2.5);
  EXPECT_TRUE(value_of("TRUE").as<bool>());
  EXPECT_FALSE(value_of("false").as<bool>());
  EXPECT_TRUE(value_of("None").is_null());
  EXPECT_TRUE(value_of("null").is_null());
  EXPECT_EQ(value_of("dynamic").as<std::string>(), "dynamic");
  EXPECT_EQ(value_of("'512'").as<std::string>(), "512");
  EXPECT_EQ(value_of("a=b").as<std::string>(), "a=b");
  EXPECT_EQ(value_of("http://x:8/y").as<std::string>(), "http://x:8/y");
}

TEST(Overrides, ListsFollowDictAction) {
  using Ints = std::vector<int>;
  using Words = std::vector<std::string>;
  EXPECT_EQ(value_of("1,2").as<Ints>(), (Ints{1, 2}));
  EXPECT_EQ(value_of("[1, 2]").as<Ints>(), (Ints{1, 2}));
  EXPECT_EQ(value_of("(1,2)").as<Ints>(), (Ints{1, 2}));
  EXPECT_EQ(value_of("(1,)").as<Ints>(), (Ints{1}));
  EXPECT_TRUE(value_of("[]").as<Ints>().empty());
  EXPECT_EQ(value_of("[(1333,800),(1333,640)]").as<std::vector<Ints>>(),
            (std::vector<Ints>{{1333, 800}, {1333, 640}}));
  EXPECT_EQ(value_of("(1333,800),(1333,640)").as<std::vector<Ints>>(),
            (std::vector<Ints>{{1333, 800}, {1333, 640}}));
  EXPECT_EQ(value_of("[8]").as<Ints>(), (Ints{8}));
  EXPECT_EQ(value_of("bbox,segm").as<Words>(), (Words{"bbox", "segm"}));
  EXPECT_EQ(value_of("'a,b'").as<std::string>(), "a,b");
}

TEST(Overrides, MapsAreYaml) {
  const ConfigNode node = value_of("[{type: A, x: [1, 2]}, {type: B}]");
  EXPECT_EQ(node.at(0).get<std::vector<int>>("x"), (std::vector<int>{1, 2}));
  EXPECT_EQ(node.at(1).get<std::string>("type"), "B");
  const std::string text = "opt: {type: SGD, lr: 1}\n";
  const ConfigNode merged = parse_config(text, "x.yaml", {"opt={lr: 2}"});
  EXPECT_EQ(merged["opt"].get<int>("lr"), 2);
  EXPECT_EQ(merged["opt"].get<std::string>("type"), "SGD");
  const ConfigNode replaced = parse_config(text, "x.yaml", {"opt={_delete_: true, type: Adam}"});
  EXPECT_EQ(replaced["opt"].keys(), (std::vector<std::string>{"type"}));
}

TEST(Overrides, ReachIntoMapsAndLists) {
  const std::string text = "heads: [{n: 80}, {n: 80}]\n";
  const ConfigNode cfg = parse_config(text, "x.yaml", {"heads.1.n=3", "new.key=x"});
  EXPECT_EQ(cfg["heads"].at(0).get<int>("n"), 80);
  EXPECT_EQ(cfg["heads"].at(1).get<int>("n"), 3);
  EXPECT_EQ(cfg["new"].get<std::string>("key"), "x");
  EXPECT_EQ(cfg["heads"].at(1)["n"].where(), "--cfg-options heads.1.n=3: heads[1].n");
}

TEST(Overrides, ErrorsQuoteTheOverride) {
  const std::string text = "lr: 0.02\nheads: [{n: 80}]\n";
  EXPECT_EQ(parse_error(text, {"lr"}), "--cfg-options lr: expected KEY=VALUE, like optimizer.lr=0.01");
  EXPECT_EQ(parse_error(text, {"a..b=1"}),
            "--cfg-options a..b=1: 'a..b' is not a key path like data.train.type");
  EXPECT_EQ(parse_error(text, {"=1"}), "--cfg-options =1: '' is not a key path like data.train.type");
  EXPECT_EQ(parse_error(text, {"heads.1.n=3"}),
            "--cfg-options heads.1.n=3: heads: index 1 is past the end of a list of 1 (x.yaml:2:8)");
  EXPECT_EQ(parse_error(text, {"lr.value=3"}),
            "--cfg-options lr.value=3: lr: a map cannot be merged into 0.02 (x.yaml:1:5); to replace it, "
            "write '_delete_: true' into the map");
  EXPECT_EQ(parse_error(text, {"lr=[1,2"}), "--cfg-options lr=[1,2: lr: '[' is not closed in '[1,2'");
  EXPECT_EQ(parse_error(text, {"lr=1)"}), "--cfg-options lr=1): lr: ')' without '(' in '1)'");
  EXPECT_EQ(parse_error(text, {"lr={a: 1, a: 2}"}), "--cfg-options lr={a: 1, a: 2}: lr.a: duplicate key");
  const ConfigNode cfg = parse_config(text, "x.yaml", {"lr=fast"});
  EXPECT_EQ(error_of([&] { cfg.get<double>("lr"); }),
            "--cfg-options lr=fast: lr: expected a number, got the string 'fast'");
}

}  // namespace
}  // namespace osprey
