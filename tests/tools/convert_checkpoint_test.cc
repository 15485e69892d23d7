// Runs tools/convert_checkpoint as a user does, both ways.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/error.h"
#include "core/io/pth.h"
#include "core/runner/checkpoint.h"
#include "tests/golden.h"
#include "tests/run_tool.h"

namespace osprey {
namespace {

using testing::Golden;

using testing::Outcome;

Outcome convert(const std::string& arguments) { return testing::run_tool("convert_checkpoint", arguments); }

std::string temp(const std::string& name) { return ::testing::TempDir() + name; }

// A file of PyTorch's, to ours and back to PyTorch's: the weights are what they were.
TEST(ConvertCheckpoint, ConvertsBothWays) {
  const std::string source = Golden::find_file("checkpoint/misc_zip.pth"), ours = temp("a.safetensors"),
                    copy = temp("a.pth");
  const Outcome there = convert(source + " " + ours);
  ASSERT_EQ(there.exit_code, 0) << there.output;
  EXPECT_NE(there.output.find(source + " -> " + ours), std::string::npos) << there.output;
  EXPECT_NE(there.output.find("weights    18 tensors"), std::string::npos) << there.output;
  EXPECT_NE(there.output.find("left out, has no place here: meta.none"), std::string::npos) << there.output;
  ASSERT_EQ(convert(ours + " " + copy).exit_code, 0);
  EXPECT_FALSE(is_pth(ours));
  EXPECT_TRUE(is_pth(copy));
  const StateDict expected = read_weights(source), back = read_weights(copy);
  ASSERT_EQ(back.size(), expected.size());
  for (const auto& [name, tensor] : expected.entries())
    EXPECT_TRUE(bitwise_equal(*back.find(name), tensor)) << name;
}

TEST(ConvertCheckpoint, WeightsOnlyLeavesTheRestOut) {
  Checkpoint state;
  state.meta.recorded = true;
  state.weights.put("w", testing::uniform({3}, 0, 1, 1));
  state.optimizer.put("w.momentum_buffer", testing::uniform({3}, 0, 1, 2));
  state.param_groups = {{{{"lr", {0.1}}}, {"w"}}};
  const std::string source = temp("full.safetensors"), target = temp("weights.pth");
  write_checkpoint(source, state);
  ASSERT_EQ(convert(source + " " + target + " --weights-only").exit_code, 0);
  EXPECT_EQ(read_checkpoint(target).optimizer.size(), 0u);
  ASSERT_EQ(convert(source + " " + target).exit_code, 0);
  EXPECT_EQ(read_checkpoint(target).optimizer.size(), 1u);
}

TEST(ConvertCheckpoint, ReportsWhatTheUserCanMend) {
  const std::string source = Golden::find_file("checkpoint/misc_zip.pth");
  for (const auto& [arguments, message] :
       {std::pair<std::string, std::string>{source + " " + temp("a.bin"), "must end in .safetensors or .pth"},
        {"/no/such/file.pth " + temp("a.pth"), "/no/such/file.pth: no such checkpoint"},
        {source, "target is required"}}) {
    const Outcome outcome = convert(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_NE(outcome.output.find(message), std::string::npos) << outcome.output;
  }
}

}  // namespace
}  // namespace osprey
