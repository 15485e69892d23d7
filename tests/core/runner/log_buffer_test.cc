#include "core/runner/log_buffer.h"

#include <gtest/gtest.h>

namespace osprey {
namespace {

TEST(LogBuffer, AveragesWhatCommitted) {
  LogBuffer buffer;
  for (int i = 0; i < 4; ++i) {
    buffer.begin_iter(i);
    buffer.stage("loss", i == 1 ? 1e30 : i, 2);
    buffer.put("time", 1);
    if (i == 1) {
      buffer.drop();
    } else {
      buffer.commit();
    }
  }
  buffer.average(4);
  EXPECT_TRUE(buffer.ready());
  EXPECT_DOUBLE_EQ(*buffer.find_output("loss"), (0 + 2 + 3) / 3.0);
  EXPECT_DOUBLE_EQ(*buffer.find_output("time"), 1);
  buffer.clear_output();
  buffer.average(2);  // iterations 2 and 3
  EXPECT_DOUBLE_EQ(*buffer.find_output("loss"), 2.5);
}

TEST(LogBuffer, WeighsByCount) {
  LogBuffer buffer;
  buffer.put("acc", 10, 3);
  buffer.put("acc", 20, 1);
  buffer.average();
  EXPECT_DOUBLE_EQ(*buffer.find_output("acc"), 12.5);
}

TEST(LogBuffer, LeavesOutWhatHasNoValueInTheWindow) {
  LogBuffer buffer;
  buffer.begin_iter(0);
  buffer.put("grad_norm", 1);
  buffer.begin_iter(10);
  buffer.put("loss", 2);
  buffer.average(5);
  EXPECT_EQ(buffer.find_output("grad_norm"), nullptr);
  EXPECT_NE(buffer.find_output("loss"), nullptr);
}

}  // namespace
}  // namespace osprey
