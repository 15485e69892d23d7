#include "tests/core/config/config_files.h"

// Mistakes that users make, each with the whole message that they get.
namespace osprey {
namespace {

class WrongConfig : public ConfigFiles {
 protected:
  void SetUp() override {
    ConfigFiles::SetUp();
    write("base.yaml", R"(optimizer: {type: SGD, lr: 0.02}
model:
  type: MaskRCNN
  bbox_head:
    - {num_classes: 80}
    - {num_classes: 80}
data_root: data/coco
)");
  }

  static std::string load(const std::string& text, const std::vector<std::string>& overrides = {}) {
    write("x.yaml", "_base_: base.yaml\n" + text);
    return error_of([&] { read_as_a_run_does(load_config("x.yaml", overrides)); });
  }

 private:
  // The reads of a small run: optimizer, model with its heads, data_root.
  static void read_as_a_run_does(const ConfigNode& cfg) {
    cfg["optimizer"].choice("type", "SGD", {"SGD", "Adam", "AdamW"});
    cfg["optimizer"].get("lr", 0.01, positive());
    cfg["optimizer"].get("momentum", 0.0, between(0, 1));
    cfg["model"].get<std::string>("type");
    for (const ConfigNode& head : cfg["model"]["bbox_head"].items()) head.get("num_classes", 80, positive());
    cfg.get<std::string>("data_root");
    require_all_read(cfg);
  }
};

TEST_F(WrongConfig, ARightOneIsNone) { EXPECT_EQ(load("optimizer: {lr: 0.01}\n"), ""); }

TEST_F(WrongConfig, UnknownKey) {
  EXPECT_EQ(load("optimizer:\n  momentun: 0.9\n"),
            "x.yaml:3:3: optimizer.momentun: unknown key of SGD, which reads lr, momentum, type. "
            "Did you mean 'momentum'?");
}

TEST_F(WrongConfig, UnknownSection) {
  EXPECT_EQ(load("optimiser: {lr: 1}\n"),
            "x.yaml:2:1: optimiser: unknown key; known here: data_root, model, optimizer. Did you mean "
            "'optimizer'?");
}

TEST_F(WrongConfig, MisspeltType) {
  EXPECT_EQ(
      load("optimizer: {type: Adamw2}\n"),
      "x.yaml:2:19: optimizer.type: must be one of SGD, Adam, AdamW, got 'Adamw2'. Did you mean 'AdamW'?");
}

TEST_F(WrongConfig, WrongTypeOfValue) {
  EXPECT_EQ(load("optimizer: {lr: '0.02'}\n"),
            "x.yaml:2:17: optimizer.lr: expected a number, got the string '0.02'");
}

TEST_F(WrongConfig, ValueOutOfRange) {
  EXPECT_EQ(load("optimizer: {momentum: 9}\n"), "x.yaml:2:23: optimizer.momentum: must be in [0, 1], got 9");
}

TEST_F(WrongConfig, BadOverride) {
  EXPECT_EQ(load("", {"optimizer.lr=fast"}),
            "--cfg-options optimizer.lr=fast: optimizer.lr: expected a number, got the string 'fast'");
  EXPECT_EQ(load("", {"optimizer.lr"}),
            "--cfg-options optimizer.lr: expected KEY=VALUE, like optimizer.lr=0.01");
  EXPECT_EQ(
      load("", {"optimizer.learning_rate=1"}),
      "--cfg-options optimizer.learning_rate=1: optimizer.learning_rate: unknown key of SGD, which reads lr, "
      "momentum, type");
}

TEST_F(WrongConfig, IndexPastTheEnd) {
  EXPECT_EQ(load("", {"model.bbox_head.2.num_classes=3"}),
            "--cfg-options model.bbox_head.2.num_classes=3: model.bbox_head: index 2 is past the end of a "
            "list of 2 "
            "(base.yaml:4:3)");
}

TEST_F(WrongConfig, MapOverAList) {
  EXPECT_EQ(
      load("model:\n  bbox_head: {num_classes: 3}\n"),
      "x.yaml:3:14: model.bbox_head: a map cannot be merged into a list of 2 (base.yaml:4:3): edit elements "
      "with '_each_: ...' or '0: ...', or replace the list with a list");
}

TEST_F(WrongConfig, MapOverAScalar) {
  EXPECT_EQ(load("data_root: {train: a}\n"),
            "x.yaml:2:12: data_root: a map cannot be merged into the string 'data/coco' (base.yaml:7:12); to "
            "replace it, write '_delete_: true' into the map");
}

TEST_F(WrongConfig, DuplicateKey) {
  EXPECT_EQ(load("optimizer:\n  lr: 1\n  lr: 2\n"),
            "x.yaml:4:3: optimizer.lr: duplicate key, first on line 3");
}

TEST_F(WrongConfig, CyclicBase) {
  write("base.yaml", "_base_: x.yaml\n");
  EXPECT_EQ(load(""), "base.yaml:1:9: _base_: files include each other: x.yaml -> base.yaml -> x.yaml");
}

TEST_F(WrongConfig, MissingFile) {
  EXPECT_EQ(error_of([] { load_config("bsae.yaml"); }),
            "config: no such file: bsae.yaml. Did you mean 'base.yaml'?");
  write("x.yaml", "_base_: [base.yaml, runtime.yaml]\n");
  EXPECT_EQ(error_of([] { load_config("x.yaml"); }), "x.yaml:1:21: _base_: no such file: runtime.yaml");
}

TEST_F(WrongConfig, UnresolvedReference) {
  EXPECT_EQ(load("data_root: ${root}/coco\n"),
            "x.yaml:2:12: data_root: '${root}' names no key of this config");
}

TEST_F(WrongConfig, MissingKey) {
  EXPECT_EQ(load("model: {_delete_: true, typ: MaskRCNN}\n"),
            "x.yaml:2:8: model: missing key 'type'. Is 'typ' a misspelling of it?");
}

TEST_F(WrongConfig, BrokenYaml) {
  EXPECT_EQ(load("optimizer: {lr: 1\nmodel: {}\n").substr(0, 7), "x.yaml:");
  EXPECT_EQ(load("optimizer:\n\tlr: 1\n").substr(0, 9), "x.yaml:3:");
}

TEST_F(WrongConfig, AReferenceInAFlowCollectionNeedsQuotes) {
  EXPECT_EQ(
      load("model: {bbox_head: ${heads}}\n"),
      "x.yaml:2:21: end of map flow not found. Inside {...} and [...] a reference needs quotes: '${heads}'");
  EXPECT_NE(load("model:\n  bbox_head: [1, ${heads}]\n").find("needs quotes: '${heads}'"), std::string::npos);
}

TEST_F(WrongConfig, HintsKeepMostOfAShortWord) {
  EXPECT_EQ(load("optimizer: {x: 1}\n"),
            "x.yaml:2:13: optimizer.x: unknown key of SGD, which reads lr, momentum, type");
  EXPECT_EQ(
      load("optimizer: {lrr: 1}\n"),
      "x.yaml:2:13: optimizer.lrr: unknown key of SGD, which reads lr, momentum, type. Did you mean 'lr'?");
}

TEST_F(WrongConfig, TheFaultyLineIsShown) {
  const std::string message = load("optimizer:\n  momentun: 0.9\n");
  EXPECT_EQ(with_source_lines(message), message + "\n    3 |   momentun: 0.9");
  EXPECT_EQ(with_source_lines("plain"), "plain");
}

}  // namespace
}  // namespace osprey
