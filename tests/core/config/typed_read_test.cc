#include <cmath>

#include "tests/core/config/config_files.h"

namespace osprey {
namespace {

using Ints = std::vector<int64_t>;

TEST(TypedRead, ReadsEveryType) {
  const ConfigNode cfg = parse_config(R"(
int: 50
hex: 0x10
integral: 512.
float: 1e-3
bool: True
text: torchvision://resnet50
quoted: '512'
null_: null
none: None
pairs: [[1333, 800], [1333, 640]]
mixed: [1, 0.5, 0.25]
words: [bbox, segm]
empty: []
)");
  EXPECT_EQ(cfg.get<int>("int"), 50);
  EXPECT_EQ(cfg.get<double>("int"), 50.0);
  EXPECT_EQ(cfg.get<int>("hex"), 16);
  EXPECT_EQ(cfg.get<int64_t>("integral"), 512);
  EXPECT_EQ(cfg.get<double>("float"), 1e-3);
  EXPECT_TRUE(cfg.get<bool>("bool"));
  EXPECT_EQ(cfg.get<std::string>("text"), "torchvision://resnet50");
  EXPECT_EQ(cfg.get<std::string>("quoted"), "512");
  EXPECT_TRUE(cfg["null_"].is_null());
  EXPECT_TRUE(cfg["none"].is_null());
  EXPECT_EQ(cfg.get<std::vector<Ints>>("pairs"), (std::vector<Ints>{{1333, 800}, {1333, 640}}));
  EXPECT_EQ(cfg.get<std::vector<double>>("mixed"), (std::vector<double>{1, 0.5, 0.25}));
  EXPECT_EQ(cfg.get<std::vector<std::string>>("words"), (std::vector<std::string>{"bbox", "segm"}));
  EXPECT_TRUE(cfg.get<Ints>("empty").empty());
}

TEST(TypedRead, ReadsInfinityAndNan) {
  const ConfigNode cfg = parse_config("a: .inf\nb: -inf\nc: nan\nd: .NaN\n");
  EXPECT_EQ(cfg.get<double>("a"), INFINITY);
  EXPECT_EQ(cfg.get<double>("b"), -INFINITY);
  EXPECT_TRUE(std::isnan(cfg.get<double>("c")));
  EXPECT_TRUE(std::isnan(cfg.get<double>("d")));
}

TEST(TypedRead, DefaultsApplyToMissingAndNull) {
  const ConfigNode cfg = parse_config("a: null\n");
  EXPECT_EQ(cfg.get("a", 7), 7);
  EXPECT_EQ(cfg.get("b", "mean"), "mean");
  EXPECT_EQ(cfg.get("c", 0.5, positive()), 0.5);
  EXPECT_TRUE(cfg.find("d").find("e").is_null());
  EXPECT_EQ(cfg.find("d").get("e", true), true);
}

TEST(TypedRead, IsTellsTheFormsOfAKeyApart) {
  const ConfigNode cfg = parse_config("a: 512.\nb: dynamic\nc: {init_scale: 512}\nd: [1, 2]\ne: [1, x]\n");
  EXPECT_TRUE(cfg["a"].is<double>());
  EXPECT_FALSE(cfg["a"].is<std::string>());
  EXPECT_TRUE(cfg["b"].is<std::string>());
  EXPECT_FALSE(cfg["c"].is<double>());
  EXPECT_TRUE(cfg["d"].is<Ints>());
  EXPECT_FALSE(cfg["e"].is<Ints>());
}

TEST(TypedRead, WrongTypesNameThePlaceTheWantAndTheFind) {
  const ConfigNode cfg = parse_config(
      "model:\n  depth: fifty\n  on: yes\n  list: 3\n  big: 5000000000\n  part: 1.5\n  map: {a: 1}\n",
      "x.yaml");
  const ConfigNode model = cfg["model"];
  EXPECT_EQ(error_of([&] { model.get<int>("depth"); }),
            "x.yaml:2:10: model.depth: expected an integer, got the string 'fifty'");
  EXPECT_EQ(error_of([&] { model.get("on", false); }),
            "x.yaml:3:7: model.on: expected true or false, got the string 'yes'");
  EXPECT_EQ(error_of([&] { model.get<Ints>("list"); }), "x.yaml:4:9: model.list: expected a list, got 3");
  EXPECT_EQ(error_of([&] { model.get<int>("big"); }),
            "x.yaml:5:8: model.big: expected an integer of 32 bits, got 5000000000");
  EXPECT_EQ(error_of([&] { model.get<int64_t>("part"); }),
            "x.yaml:6:9: model.part: expected an integer, got 1.5");
  EXPECT_EQ(error_of([&] { model.get<double>("map"); }),
            "x.yaml:7:8: model.map: expected a number, got a map");
  EXPECT_EQ(error_of([&] { model["depth"]["x"]; }),
            "x.yaml:2:10: model.depth: expected a map (key: value), got the string 'fifty'");
}

TEST(TypedRead, AQuotedNumberIsNoNumberAndANumberNoString) {
  const ConfigNode cfg = parse_config("a: '50'\nb: 50\n", "x.yaml");
  EXPECT_EQ(error_of([&] { cfg.get<int>("a"); }), "x.yaml:1:4: a: expected an integer, got the string '50'");
  EXPECT_EQ(error_of([&] { cfg.get<std::string>("b"); }), "x.yaml:2:4: b: expected a string, got 50");
}

TEST(TypedRead, AnElementOfTheWrongTypeIsNamed) {
  const ConfigNode cfg = parse_config("scales: [8, [16, x]]\n", "x.yaml");
  EXPECT_EQ(error_of([&] { cfg["scales"].at(1).as<Ints>(); }),
            "x.yaml:1:18: scales[1][1]: expected an integer, got the string 'x'");
  EXPECT_EQ(error_of([&] { cfg["scales"].at(2); }), "x.yaml:1:9: scales: no element 2 in a list of 2");
}

TEST(TypedRead, ConstraintsAndChoicesSayWhatIsAllowed) {
  const ConfigNode cfg = parse_config("beta: -1\nratio: 2\nstyle: pytorh\n", "x.yaml");
  EXPECT_EQ(error_of([&] { cfg.get("beta", 1.0, positive()); }), "x.yaml:1:7: beta: must be > 0, got -1");
  EXPECT_EQ(error_of([&] { cfg.get("ratio", 0.5, between(0, 1)); }),
            "x.yaml:2:8: ratio: must be in [0, 1], got 2");
  EXPECT_EQ(error_of([&] {
              cfg.choice("style", "pytorch", {"pytorch", "caffe"});
            }),
            "x.yaml:3:8: style: must be one of pytorch, caffe, got 'pytorh'. Did you mean 'pytorch'?");
}

TEST(TypedRead, AMissingKeyPointsToAMisspeltOne) {
  const ConfigNode cfg = parse_config("backbone:\n  type: ResNet\n  detph: 50\n", "x.yaml");
  EXPECT_EQ(error_of([&] { cfg["backbone"].get<int>("depth"); }),
            "x.yaml:1:1: backbone: missing key 'depth'. Is 'detph' a misspelling of it?");
  EXPECT_EQ(error_of([&] { cfg.find("neck").get<int>("depth"); }), "x.yaml:1:1: neck: missing key 'depth'");
}

TEST(DerivedNode, WithLeavesTheOriginalAndSharesItsMarks) {
  const ConfigNode cfg =
      parse_config("head: {type: RPNHead}\ntrain_cfg: {pos_weight: -1, debug: false}\n", "x.yaml");
  const ConfigNode head =
      cfg["head"].with("train_cfg", cfg["train_cfg"]).with("num_classes", 1).with("on", true);
  EXPECT_EQ(head["train_cfg"].get<double>("pos_weight"), -1);
  EXPECT_EQ(head.get<std::string>("type"), "RPNHead");
  EXPECT_EQ(head.get<int>("num_classes"), 1);
  EXPECT_TRUE(head.get<bool>("on"));
  EXPECT_FALSE(cfg["head"].has("train_cfg"));
  EXPECT_EQ(error_of([&] { require_all_read(cfg); }),
            "x.yaml:2:29: train_cfg.debug: unknown key; known here: pos_weight");
}

TEST(DerivedNode, WithoutHidesAKey) {
  const ConfigNode cfg = parse_config("a: 1\nb: 2\n");
  EXPECT_EQ(cfg.without("a").keys(), (std::vector<std::string>{"b"}));
  EXPECT_EQ(cfg.keys(), (std::vector<std::string>{"a", "b"}));
}

TEST(RequireAllRead, ListsEveryUnreadKeyWithTheNearestThatWasAsked) {
  const ConfigNode cfg = parse_config(
      "model:\n  type: ResNet\n  depth: 50\n  stile: caffe\n  hooks: [{type: A, x: 1}]\nmodle: {depth: 3}\n",
      "x.yaml");
  const ConfigNode model = cfg["model"];
  model.get<std::string>("type");
  model.get<int>("depth");
  model.get("style", "pytorch");
  model["hooks"].at(0).get<std::string>("type");
  EXPECT_EQ(error_of([&] { require_all_read(cfg); }),
            "x.yaml:4:3: model.stile: unknown key of ResNet, which reads depth, hooks, style, type. "
            "Did you mean 'style'?\n"
            "x.yaml:5:21: model.hooks[0].x: unknown key of A, which reads type\n"
            "x.yaml:6:1: modle: unknown key; known here: model. Did you mean 'model'?");
}

TEST(RequireAllRead, IsContentOnceEverythingWasRead) {
  const ConfigNode cfg = parse_config("a: 1\nb: [1, 2]\nmeta: {x: {y: 1}}\nc: null\n");
  cfg.get<int>("a");
  cfg.get<Ints>("b");
  cfg["meta"].mark_read();
  cfg.find("c");
  EXPECT_NO_THROW(require_all_read(cfg));
}

TEST(TypedRead, ConstraintsHoldForEachNumber) {
  const ConfigNode cfg = parse_config("a: [1, -2]\nb: []\nc: .inf\nd: nan\ne: 0\n", "x.yaml");
  EXPECT_EQ(error_of([&] { cfg.get<std::vector<int64_t>>("a", positive()); }),
            "x.yaml:1:8: a[1]: must be > 0, got -2");
  EXPECT_EQ(error_of([&] { cfg.get<std::vector<double>>("b", positive()); }),
            "x.yaml:2:4: b: must not be an empty list; each element must be > 0");
  EXPECT_EQ(error_of([&] { cfg.get<double>("c", positive()); }), "x.yaml:3:4: c: must be > 0, got inf");
  EXPECT_EQ(error_of([&] { cfg.get<double>("d", finite()); }), "x.yaml:4:4: d: must be finite, got nan");
  EXPECT_EQ(error_of([&] { cfg.get("e", int64_t{1}, positive()); }), "x.yaml:5:4: e: must be > 0, got 0");
  EXPECT_EQ(cfg.get("absent", int64_t{0}, positive()), 0);  // a default is the reader's own business
  EXPECT_EQ(cfg.get<int64_t>("e", at_least(0)), 0);
}

TEST(TypedRead, RemembersWhatItWasAskedFor) {
  const ConfigNode cfg = parse_config("lr: 0.1\nsteps: [1]\n");
  cfg.get<double>("lr", positive());
  cfg.get("steps", std::vector<int64_t>{8, 11});
  cfg.choice("policy", "step", {"step", "fixed"});
  cfg.find("block");
  std::vector<std::string> keys;
  for (const ConfigKey& key : cfg.asked_keys())
    keys.push_back(key.name + ": " + key.type + "; " + key.allowed + "; " + key.fallback);
  EXPECT_EQ(keys, (std::vector<std::string>{"block: ; ; ", "lr: a number; must be > 0; ",
                                            "policy: one of step, fixed; ; step",
                                            "steps: a list, each an integer; ; [8, 11]"}));
}

}  // namespace
}  // namespace osprey
