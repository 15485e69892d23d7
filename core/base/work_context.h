#pragma once

#include <string>

namespace osprey {

// What this thread is working on: for messages of layers that know neither modules nor ops (an allocator, a
// library call that failed). ModuleScope and DeviceKernel keep it up to date.
struct WorkContext {
  const std::string* module_path = nullptr;  // null outside any module
  const char* op = nullptr;                  // null outside any op
};
WorkContext& work_context();

// "conv2d in roi_head.bbox_head.0.fc_cls", "conv2d", "" outside both.
std::string describe_work();

// Names the op while one lives.
class OpScope {
 public:
  explicit OpScope(const char* op) : previous_(work_context().op) { work_context().op = op; }
  ~OpScope() { work_context().op = previous_; }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

 private:
  const char* previous_;
};

}  // namespace osprey
