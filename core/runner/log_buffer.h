#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace osprey {

// Values of an epoch and their averages (mmcv's LogBuffer), with one difference: values of an iteration are
// staged until it commits, so that a skipped iteration leaves no trace in an average.
class LogBuffer {
 public:
  // Values put from now on belong to this iteration.
  void begin_iter(int64_t iter) { iter_ = iter; }

  // `count` is the weight of the value (the number of images).
  void stage(const std::string& name, double value, int64_t count = 1);
  void commit();
  void drop() { staged_.clear(); }
  const double* find_staged(const std::string& name) const;  // null when absent
  // For what does not depend on the verdict: time, data_time.
  void put(const std::string& name, double value, int64_t count = 1);

  // Fills output() with weighted means over the last `iters` iterations up to the current one (0: all since
  // clear()). A name without a value there is left out.
  void average(int64_t iters = 0);

  using Values = std::vector<std::pair<std::string, double>>;
  const Values& output() const { return output_; }
  void set_output(const std::string& name, double value);
  const double* find_output(const std::string& name) const;  // null when absent
  // Texts beside the numbers: bbox_mAP_copypaste.
  const std::vector<std::pair<std::string, std::string>>& texts() const { return texts_; }
  void set_text(const std::string& name, const std::string& text);

  bool ready() const { return ready_; }  // output() waits for the logger
  void set_ready() { ready_ = true; }
  void clear_output();
  void clear();

 private:
  struct Entry {
    int64_t iter;
    double value;
    int64_t count;
  };
  struct Staged {
    std::string name;
    Entry entry;
  };
  void append(const std::string& name, const Entry& entry);

  int64_t iter_ = 0;
  std::vector<Staged> staged_;
  std::vector<std::string> names_;  // in order of first appearance
  std::map<std::string, std::vector<Entry>> history_;
  Values output_;
  std::vector<std::pair<std::string, std::string>> texts_;
  bool ready_ = false;
};

}  // namespace osprey
