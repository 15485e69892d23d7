#include "tests/core/config/config_files.h"

namespace osprey {
namespace {

TEST(Dump, WritesShortPartsOnOneLineAndTheRestAsBlocks) {
  const std::string text =
      "optimizer: {type: SGD, lr: 0.02, weight_decay: 1e-4}\n"
      "grad_clip: null\n"
      "empty: {}\n"
      "pipeline:\n"
      "  - {type: Resize, img_scale: [1333, 800], keep_ratio: true}\n"
      "  - type: MultiScaleFlipAug\n"
      "    transforms:\n"
      "      - {type: ImageToTensor, keys: [img]}\n"
      "      - {type: Collect, keys: [img]}\n";
  EXPECT_EQ(parse_config(text).to_yaml(), text);
}

// Every string must load as the same string, whatever it looks like.
TEST(Dump, StringsStayStrings) {
  const std::vector<std::string> strings = {"512",   "1e-3",    "true",  "None", "null",
                                            "~",     "",        " a",    "a ",   "a: b",
                                            "a #b",  "- a",     "[x",    "it's", "\"q\"",
                                            "a\nb",  "\t",      "\x01",  "${x}", "$${x}",
                                            "a b:c", "ünïcode", "*.bn*", "&a",   "!t",
                                            "?",     "@x",      "a:",    ".5",   "0x1F",
                                            "a,b",   "inf",     "%d",    "\\",   "torchvision://resnet50"};
  ConfigNode node = parse_config("");
  for (size_t i = 0; i < strings.size(); ++i) node = node.with("k" + std::to_string(i), strings[i]);
  const ConfigNode again = parse_config(node.to_yaml());
  for (size_t i = 0; i < strings.size(); ++i) {
    EXPECT_EQ(again.get<std::string>("k" + std::to_string(i)), strings[i]) << node.to_yaml();
  }
}

TEST(Dump, NumbersKeepTheirBits) {
  const std::vector<double> numbers = {0.1, 1.0 / 9.0, 512., 1e-300, -2.5e10, 3};
  ConfigNode node = parse_config("");
  for (size_t i = 0; i < numbers.size(); ++i) node = node.with("k" + std::to_string(i), numbers[i]);
  const ConfigNode again = parse_config(node.to_yaml());
  for (size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(again.get<double>("k" + std::to_string(i)), numbers[i]);
  }
}

TEST(Dump, ReloadsWithTheSameVariables) {
  const char* const text = "data_root: data/coco\nann_file: ${data_root}/a.json\n";
  const std::string dump = parse_config(text).to_yaml();
  EXPECT_EQ(dump, "data_root: data/coco\nann_file: data/coco/a.json\n_variables_: [data_root]\n");
  const ConfigNode again = parse_config(dump);
  again.get<std::string>("ann_file");
  EXPECT_NO_THROW(require_all_read(again));
  EXPECT_EQ(again.to_yaml(), dump);
}

TEST(Dump, AVariableOfADumpCannotBeOverriddenInVain) {
  const std::string dump = parse_config("root: a\nfile: ${root}/x\n").to_yaml();
  const ConfigNode cfg = parse_config(dump, "dump.yaml", {"root=b"});
  cfg.get<std::string>("file");
  EXPECT_EQ(error_of([&] { require_all_read(cfg); }),
            "--cfg-options root=b: root: unknown key; known here: file");
}

// What a builder reads anyway needs no mention: an anchor inside a model, a referenced learning rate.
TEST(Dump, ListsOnlyWhatNobodyElseReads) {
  const ConfigNode cfg = parse_config(
      "shared: {norm: &norm {type: BN}}\n"
      "heads: [&head {n: 1, norm: *norm}, *head]\n"
      "lr: 1\n"
      "twice: {lr: '${lr}', mine: {x: 1}, also: '${twice.mine}'}\n");
  const auto last_line = [&] {
    const std::string dump = cfg.to_yaml();
    return dump.substr(dump.rfind('\n', dump.size() - 2) + 1);
  };
  cfg.get<int>("lr");
  cfg["twice"]["also"].get<int>("x");
  EXPECT_EQ(last_line(), "_variables_: [shared, twice.mine]\n");
}

TEST(Alias, AnEditThatAnAliasNoLongerSeesIsNotSilent) {
  const ConfigNode cfg = parse_config("norm: &norm {eps: 1}\na: *norm\n", "x.yaml", {"norm.eps=2"});
  EXPECT_EQ(cfg["a"].get<int>("eps"), 1);
  EXPECT_EQ(error_of([&] { require_all_read(cfg); }),
            "--cfg-options norm.eps=2: norm: unknown key; known here: a");
}

}  // namespace
}  // namespace osprey
