#include "tests/core/config/config_files.h"
#include "tests/run_tool.h"

namespace osprey {
namespace {

using testing::Outcome;

Outcome print_config(const std::string& arguments) { return testing::run_tool("print_config", arguments); }

TEST(PrintConfig, PrintsWhatLoads) {
  const Outcome outcome =
      print_config("configs/htc_r50_fp16.yaml --cfg-options optimizer.lr=0.005 data_root=/x");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.output,
            load_config("configs/htc_r50_fp16.yaml", {"optimizer.lr=0.005", "data_root=/x"}).to_yaml());
  EXPECT_EQ(print_config("--config configs/htc_r50.yaml").output,
            print_config("configs/htc_r50.yaml").output);
}

TEST(PrintConfig, SaysWhereAValueComesFrom) {
  const Outcome outcome =
      print_config("configs/htc_r50_fp16.yaml --why optimizer.lr --cfg-options optimizer.lr=0.5");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.output,
            "optimizer.lr: 0.5\n"
            "  set in --cfg-options optimizer.lr=0.5\n"
            "  overrides 0.02 of configs/_base_/schedules/schedule_1x.yaml:2:28\n");
}

TEST(PrintConfig, MistakesEndWithCode2AndOneLine) {
  EXPECT_EQ(print_config("configs/htc_r50.yaml --why optmizer.lr").output,
            "there is no key 'optmizer.lr': the config has no 'optmizer'. Did you mean 'optimizer'?\n");
  const Outcome missing = print_config("configs/htc_r5.yaml");
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_EQ(missing.output, "config: no such file: configs/htc_r5.yaml. Did you mean 'htc_r50.yaml'?\n");
  EXPECT_EQ(print_config("").exit_code, 2);
  EXPECT_EQ(print_config("configs/htc_r50.yaml --nonsense").exit_code, 2);
  EXPECT_EQ(print_config("--help").exit_code, 0);
}

TEST(PrintConfig, TheSchemaOfATypeHasItsKeysWithDefaults) {
  const Outcome outcome = print_config("--schema FocalLoss");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.output.find("FocalLoss, a loss: losses/focal_loss.cc\n"), std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.output.find("  gamma        a number, must be >= 0 (2)\n"), std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.output.find("  reduction    one of none, mean, sum (mean)\n"), std::string::npos)
      << outcome.output;
}

// Types that need something: from a shipped config, and from placeholders.
TEST(PrintConfig, TheSchemaFindsRequiredKeys) {
  const std::string resnet = print_config("--schema ResNet").output;
  EXPECT_NE(resnet.find("  depth               an integer\n"), std::string::npos) << resnet;
  EXPECT_NE(resnet.find("  frozen_stages       an integer, must be >= -1 (-1)\n"), std::string::npos)
      << resnet;
  const std::string hook = print_config("--schema InvLrUpdaterHook").output;
  EXPECT_NE(hook.find("a number, must be > 0\n"), std::string::npos) << hook;
  EXPECT_EQ(hook.find("perhaps more"), std::string::npos) << hook;
}

TEST(PrintConfig, TheSchemaListsTheTypes) {
  const Outcome outcome = print_config("--schema");
  for (const char* part : {"backbone\n  ", "  ResNet  ", "losses/focal_loss.cc\n", "hook\n", "dataset\n  ",
                           "optimizer\n  Adam "})
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << ": " << outcome.output;
  EXPECT_EQ(print_config("--schema FocalLos").exit_code, 2);
  EXPECT_NE(print_config("--schema FocalLos").output.find("Did you mean 'FocalLoss'?"), std::string::npos);
}

TEST(PrintConfig, HelpNamesTheLauncher) {
  EXPECT_NE(print_config("--help").output.find("Usage: tools/print_config "), std::string::npos);
}

}  // namespace
}  // namespace osprey
