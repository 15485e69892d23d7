#include "tests/core/config/config_files.h"

namespace osprey {
namespace {

class Loader : public ConfigFiles {};

TEST_F(Loader, MergesBasesDeeply) {
  write("_base_/model.yaml", "model: {type: A, neck: {in: 1, out: 2}, scales: [1, 2]}\n");
  write("_base_/run.yaml", "lr: 0.02\n");
  write("exp/x.yaml",
        "_base_: [../_base_/model.yaml, ../_base_/run.yaml]\nmodel:\n  neck: {out: 3}\n  scales: [8]\n");
  const ConfigNode cfg = load_config("exp/x.yaml");
  EXPECT_EQ(cfg["model"]["neck"].get<int>("in"), 1);
  EXPECT_EQ(cfg["model"]["neck"].get<int>("out"), 3);
  EXPECT_EQ(cfg["model"].get<std::vector<int>>("scales"), (std::vector<int>{8}));
  EXPECT_EQ(cfg.get<double>("lr"), 0.02);
  EXPECT_EQ(cfg["model"]["neck"]["in"].where(), "_base_/model.yaml:1:29: model.neck.in");
  EXPECT_EQ(cfg["model"]["neck"]["out"].where(), "exp/x.yaml:3:15: model.neck.out");
  EXPECT_FALSE(cfg.has("_base_"));
}

TEST_F(Loader, RemembersWhatWasOverridden) {
  write("a.yaml", "lr: 0.02\n");
  write("b.yaml", "_base_: a.yaml\nlr: 0.01\n");
  const ConfigNode lr = load_config("b.yaml", {"lr=0.5"})["lr"];
  EXPECT_EQ(lr.where(), "--cfg-options lr=0.5: lr");
  ASSERT_EQ(lr.overridden().size(), 2u);
  EXPECT_EQ(lr.overridden()[0].text, "0.01");
  EXPECT_EQ(lr.overridden()[0].origin.file, "b.yaml");
  EXPECT_EQ(lr.overridden()[1].text, "0.02");
}

TEST_F(Loader, DeleteReplacesAMap) {
  write("a.yaml", "opt: {type: SGD, momentum: 0.9}\nclip: null\n");
  write("b.yaml",
        "_base_: a.yaml\nopt: {_delete_: true, type: AdamW}\nclip: {max_norm: 35}\n"
        "new: {_delete_: true, x: 1}\n");
  const ConfigNode cfg = load_config("b.yaml");
  EXPECT_EQ(cfg["opt"].keys(), (std::vector<std::string>{"type"}));
  EXPECT_EQ(cfg["clip"].get<int>("max_norm"), 35);  // a map over null needs no _delete_
  EXPECT_EQ(cfg["new"].keys(), (std::vector<std::string>{"x"}));
}

TEST_F(Loader, EditsListsInPlace) {
  write("a.yaml", "heads: [{type: A, n: 80}, {type: B, n: 80}, {type: C, n: 80}]\nlr: [1, 2]\n");
  write("b.yaml", "_base_: a.yaml\nheads: {_each_: {n: 3}, 1: {type: X}}\nlr: {1: 5}\n");
  const ConfigNode cfg = load_config("b.yaml");
  for (const ConfigNode& head : cfg["heads"].items()) EXPECT_EQ(head.get<int>("n"), 3);
  EXPECT_EQ(cfg["heads"].at(1).get<std::string>("type"), "X");
  EXPECT_EQ(cfg["heads"].at(2).get<std::string>("type"), "C");
  EXPECT_EQ(cfg.get<std::vector<int>>("lr"), (std::vector<int>{1, 5}));
  const ConfigNode other = load_config("b.yaml", {"heads._each_.n=9", "heads.0.type=Y"});
  EXPECT_EQ(other["heads"].at(2).get<int>("n"), 9);
  EXPECT_EQ(other["heads"].at(0).get<std::string>("type"), "Y");
}

TEST_F(Loader, EachElementGetsACopyOfTheEdit) {
  write("a.yaml", "heads: [{n: 1}, {n: 1}]\n");
  write("b.yaml", "_base_: a.yaml\nheads: {_each_: {loss: {w: 1}}}\n");
  const ConfigNode cfg = load_config("b.yaml", {"heads.0.loss.w=2"});
  EXPECT_EQ(cfg["heads"].at(0)["loss"].get<int>("w"), 2);
  EXPECT_EQ(cfg["heads"].at(1)["loss"].get<int>("w"), 1);
}

TEST_F(Loader, MergesKeysAndCopiesAliases) {
  const ConfigNode cfg = parse_config(
      "norm: &norm {type: BN, eps: 1}\n"
      "more: &more {eps: 2, x: 3}\n"
      "a: {<<: *norm, eps: 9}\n"
      "b: {<<: [*norm, *more]}\n"
      "c: *norm\n",
      "x.yaml", {"c.eps=7"});
  EXPECT_EQ(cfg["a"].get<int>("eps"), 9);
  EXPECT_EQ(cfg["a"].get<std::string>("type"), "BN");
  EXPECT_EQ(cfg["b"].get<int>("eps"), 1);
  EXPECT_EQ(cfg["b"].get<int>("x"), 3);
  EXPECT_EQ(cfg["c"].get<int>("eps"), 7);
  EXPECT_EQ(cfg["norm"].get<int>("eps"), 1);  // the anchor was not edited with its alias
}

TEST_F(Loader, WhatAnAliasUsesCountsAsRead) {
  const ConfigNode cfg = parse_config("shared: &s {type: BN}\na: {<<: *s}\n");
  cfg["a"].get<std::string>("type");
  EXPECT_NO_THROW(require_all_read(cfg));
}

TEST_F(Loader, NamesFilesThatAreNotThere) {
  write("mask_rcnn.yaml", "_base_: ./bas.yaml\n");
  write("base.yaml", "a: 1\n");
  EXPECT_EQ(error_of([] { load_config("mask_rcn.yaml"); }),
            "config: no such file: mask_rcn.yaml. Did you mean 'mask_rcnn.yaml'?");
  EXPECT_EQ(error_of([] { load_config("mask_rcnn.yaml"); }),
            "mask_rcnn.yaml:1:9: _base_: no such file: bas.yaml. Did you mean 'base.yaml'?");
}

TEST_F(Loader, RefusesBasesThatIncludeEachOther) {
  write("a.yaml", "_base_: b.yaml\n");
  write("b.yaml", "_base_: [c.yaml]\n");
  write("c.yaml", "_base_: ./b.yaml\n");
  EXPECT_EQ(error_of([] { load_config("a.yaml"); }),
            "c.yaml:1:9: _base_: files include each other: b.yaml -> c.yaml -> b.yaml");
}

TEST_F(Loader, RefusesAKeyOfTwoBases) {
  write("a.yaml", "lr: 1\n");
  write("b.yaml", "x: 2\nlr: 2\n");
  write("c.yaml", "_base_: [a.yaml, b.yaml]\n");
  EXPECT_EQ(error_of([] { load_config("c.yaml"); }),
            "c.yaml:1:18: _base_: key 'lr' is given by two bases: a.yaml:1:1 and b.yaml:2:1");
}

TEST_F(Loader, RefusesAMapOverAScalarOrAList) {
  write("a.yaml", "depth: 50\nheads: [1, 2]\n");
  write("b.yaml", "_base_: a.yaml\ndepth: {x: 1}\n");
  write("c.yaml", "_base_: a.yaml\nheads:\n  type: A\n");
  write("d.yaml", "_base_: a.yaml\nheads:\n  2: 5\n");
  EXPECT_EQ(error_of([] { load_config("b.yaml"); }),
            "b.yaml:2:8: depth: a map cannot be merged into 50 (a.yaml:1:8); to replace it, write "
            "'_delete_: true' into the map");
  EXPECT_EQ(error_of([] { load_config("c.yaml"); }),
            "c.yaml:2:1: heads: a map cannot be merged into a list of 2 (a.yaml:2:8): edit elements with "
            "'_each_: ...' or '0: ...', or replace the list with a list");
  EXPECT_EQ(error_of([] { load_config("d.yaml"); }),
            "d.yaml:3:3: heads: index 2 is past the end of a list of 2 (a.yaml:2:8)");
}

TEST_F(Loader, RefusesWhatYamlLetsPass) {
  EXPECT_EQ(parse_error("a: 1\nb: {c: 1,\n  c: 2}\n"), "x.yaml:3:3: b.c: duplicate key, first on line 2");
  EXPECT_EQ(parse_error("- a\n- b\n"), "x.yaml:1:1: a config is a map (key: value), got a list of 2");
  EXPECT_EQ(parse_error("a: 1\n---\nb: 2\n"),
            "x.yaml:3:1: a config is one YAML document, this is a second one");
  EXPECT_EQ(parse_error("a: !cool 1\n"), "x.yaml:1:4: a: unknown tag '!cool'");
  EXPECT_NE(parse_error("a: &x [*x]\n").find("nested too deep; does an alias contain itself?"),
            std::string::npos);
  EXPECT_EQ(parse_error("a: {<<: 3}\n"), "x.yaml:1:5: a.<<: merges a map or a list of maps, got 3");
  EXPECT_EQ(parse_error("a: {_each_: 3}\n"),
            "x.yaml:1:5: a._each_: edits the elements of a list, but _base_ has no list here");
  EXPECT_EQ(parse_error("a: {_delete_: 3}\n"), "x.yaml:1:15: a._delete_: expected true or false, got 3");
  EXPECT_EQ(parse_error("a: *nope\n").substr(0, 12), "x.yaml:1:4: ");
  EXPECT_EQ(parse_error("a: [1, 2\nb: 3\n").substr(0, 7), "x.yaml:");
}

TEST_F(Loader, AcceptsAnEmptyFile) {
  write("a.yaml", "# nothing yet\n");
  EXPECT_TRUE(load_config("a.yaml").is_map());
  EXPECT_EQ(load_config("a.yaml", {"a.b=1"})["a"].get<int>("b"), 1);
}

}  // namespace
}  // namespace osprey
