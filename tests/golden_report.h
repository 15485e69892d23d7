#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace osprey::testing {

// Keeps account of how well, and how completely, a test binary met the reference's fixtures. At exit it
// appends to the file that $OSPREY_GOLDEN_REPORT names, fields separated by tabs:
//   opened FIXTURE
//   error  FIXTURE  WORST RELATIVE ERROR  WHAT WAS LAST READ WHEN IT WAS SEEN
//   read   FIXTURE  TENSOR
//   unread FIXTURE  TENSOR
// tests/golden_table runs the tests and turns these lines into a table. Not thread-safe: tests compare on one
// thread.
class GoldenReport {
 public:
  // Null unless a report is wanted.
  static GoldenReport* get();
  ~GoldenReport();

  void opened(const std::string& fixture, const std::vector<std::string>& tensors);
  void read(const std::string& fixture, const std::string& what);
  // Relative L2 error of a comparison with what was read last in this test.
  void error(double relative_error);
  // What follows compares with no fixture until one is read.
  void begin_test() { fixture_.clear(); }

 private:
  explicit GoldenReport(std::string path);

  struct Fixture {
    std::set<std::string> tensors, read;
    double worst = -1;
    std::string worst_at;
  };
  std::string path_, fixture_, what_;
  std::map<std::string, Fixture> fixtures_;
};

}  // namespace osprey::testing
