#include "tests/golden_report.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

namespace osprey::testing {
namespace {

class ForgetFixture final : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo&) override { GoldenReport::get()->begin_test(); }
};

}  // namespace

GoldenReport* GoldenReport::get() {
  static const char* const path = std::getenv("OSPREY_GOLDEN_REPORT");
  static const std::unique_ptr<GoldenReport> report(path ? new GoldenReport(path) : nullptr);
  return report.get();
}

GoldenReport::GoldenReport(std::string path) : path_(std::move(path)) {
  ::testing::UnitTest::GetInstance()->listeners().Append(new ForgetFixture);  // GoogleTest owns it
}

GoldenReport::~GoldenReport() {
  std::ostringstream lines;
  for (const auto& [name, fixture] : fixtures_) {
    lines << "opened\t" << name << '\n';
    if (fixture.worst >= 0)
      lines << "error\t" << name << '\t' << fixture.worst << '\t' << fixture.worst_at << '\n';
    for (const std::string& tensor : fixture.tensors) {
      lines << (fixture.read.count(tensor) != 0 ? "read\t" : "unread\t") << name << '\t' << tensor << '\n';
    }
  }
  std::ofstream(path_, std::ios::app) << lines.str();
}

void GoldenReport::opened(const std::string& fixture, const std::vector<std::string>& tensors) {
  fixtures_[fixture].tensors.insert(tensors.begin(), tensors.end());
}

void GoldenReport::read(const std::string& fixture, const std::string& what) {
  fixture_ = fixture;
  what_ = what;
  fixtures_[fixture].read.insert(what);
}

void GoldenReport::error(double relative_error) {
  if (fixture_.empty()) return;
  Fixture& fixture = fixtures_[fixture_];
  if (relative_error <= fixture.worst) return;
  fixture.worst = relative_error;
  fixture.worst_at = what_;
}

}  // namespace osprey::testing
