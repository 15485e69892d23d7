#include "tests/core/config/config_files.h"
#include "tests/core/registry/toy.h"
#include "tools/plugins/plugins.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;

// The plugins are data of the test: they lie in the runfiles, or beside the binary when it is run by hand.
std::string plugin_path(const std::string& name) {
  const fs::path runfile = fs::path("tests/core/registry") / (name + ".so");
  return fs::is_regular_file(runfile) ? runfile.string() : (fs::path("bazel-bin") / runfile).string();
}

ConfigNode naming(const std::string& path) { return parse_config("plugins:\n  - " + path + "\n", "x.yaml"); }

std::string load_error(const std::string& path) {
  return error_of([&] { load_plugins(naming(path)); });
}

TEST(Plugin, RegistersItsTypesWithTheProgram) {
  load_plugins(naming(plugin_path("seven_plugin")));
  EXPECT_TRUE(Registry<Toy>::instance().has("PluginSeven"));
  const ConfigNode cfg = parse_config("type: PluginSeven\nplus: 5\n");
  EXPECT_EQ(build<Toy>(cfg)->value(), 705);
  EXPECT_NO_THROW(require_all_read(cfg));
}

TEST(Plugin, KeepsAClassThatIsNamedLikeOneOfTheProgramApart) {
  load_plugins(naming(plugin_path("seven_plugin")));  // a second time: nothing happens
  EXPECT_EQ(build<Toy>(parse_config("type: Seven"))->value(), 7);
  EXPECT_EQ(build<Toy>(parse_config("type: PluginSeven"))->value(), 700);
}

TEST(Plugin, ThrowsAcrossTheBorder) {
  load_plugins(naming(plugin_path("seven_plugin")));
  const auto toy = build<Toy>(parse_config("{type: PluginSeven, plus: -1}"));
  EXPECT_EQ(error_of([&] { toy->value(); }), "a plugin's error");
  EXPECT_EQ(error_of([&] { build<Toy>(parse_config("{type: PluginSeven, plus: x}", "x.yaml")); }),
            "x.yaml:1:27: plus: expected an integer, got the string 'x'");
}

TEST(Plugin, IsFoundAgainFromADumpElsewhere) {
  const ConfigNode cfg = load_plugins(naming(plugin_path("seven_plugin")));
  const ConfigNode again = parse_config(cfg.to_yaml(), "/elsewhere/dump.yaml");
  EXPECT_EQ(again["plugins"].at(0).as<std::string>(), fs::absolute(plugin_path("seven_plugin")).string());
  EXPECT_NO_THROW(require_all_read(cfg));
}

TEST(Plugin, IsFoundBesideTheConfigFile) {
  const fs::path folder = fs::path(::testing::TempDir()) / "osprey_plugin_beside";
  fs::create_directories(folder);
  fs::copy_file(plugin_path("seven_plugin"), folder / "beside.so", fs::copy_options::overwrite_existing);
  std::ofstream(folder / "x.yaml") << "plugins: [beside.so]\n";
  // A second copy of the library registers the same name again: that it says so proves that it was loaded.
  EXPECT_EQ(error_of([&] { load_plugins(load_config((folder / "x.yaml").string())); }),
            (folder / "x.yaml").string() + ":1:11: plugins[0]: " + (folder / "beside.so").string() +
                ": there is a toy 'PluginSeven' already: register this one under another name");
  fs::remove_all(folder);
}

TEST(Plugin, ATakenTypeNameIsAnError) {
  const std::string path = plugin_path("duplicate_plugin");
  EXPECT_EQ(load_error(path), "x.yaml:2:5: plugins[0]: " + fs::absolute(path).string() +
                                  ": there is a toy 'Seven' already: register this one under another name");
  EXPECT_EQ(build<Toy>(parse_config("type: Seven"))->value(), 7);
}

TEST(Plugin, OfAnotherTreeIsRefusedBeforeItsCodeRuns) {
  const std::string message = load_error(plugin_path("foreign_plugin"));
  EXPECT_NE(message.find(" was built against other headers (version 0123456789abcdef, this program has "),
            std::string::npos)
      << message;
}

TEST(Plugin, ThatCallsWhatTheProgramLacksIsRefusedWithTheSymbol) {
  const std::string message = load_error(plugin_path("unresolved_plugin"));
  EXPECT_EQ(message.rfind("x.yaml:2:5: plugins[0]: cannot load the plugin: ", 0), 0u) << message;
  EXPECT_NE(message.find("function_of_another_tree"), std::string::npos) << message;
}

TEST(Plugin, WhatIsNoPluginIsRefused) {
  EXPECT_EQ(load_error("nowhere/a.so"), "x.yaml:2:5: plugins[0]: no such plugin: nowhere/a.so");
  const std::string library = plugin_path("no_plugin");
  EXPECT_EQ(load_error(library), "x.yaml:2:5: plugins[0]: " + fs::absolute(library).string() +
                                     " is not an Osprey plugin: build it with detection_plugin");
  const std::string text = (fs::path(::testing::TempDir()) / "osprey_text.so").string();
  std::ofstream(text) << "hello";
  EXPECT_EQ(load_error(text), "x.yaml:2:5: plugins[0]: " + text + " is not a shared library");
  EXPECT_EQ(error_of([] { load_plugins(parse_config("plugins: a.so\n", "x.yaml")); }),
            "x.yaml:1:10: plugins: expected a list, got the string 'a.so'");
}

}  // namespace
}  // namespace osprey
