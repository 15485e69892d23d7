#include "core/base/work_context.h"

namespace osprey {

WorkContext& work_context() {
  thread_local WorkContext context;
  return context;
}

std::string describe_work() {
  const WorkContext& work = work_context();
  std::string text = work.op ? work.op : "";
  if (work.module_path && !work.module_path->empty()) {
    text += (text.empty() ? "" : " in ") + *work.module_path;
  }
  return text;
}

}  // namespace osprey
