#pragma once

#include <string>
#include <vector>

#include "core/runner/iteration_dump.h"

namespace osprey {

// A file as it was written.
struct FileStamp {
  std::string name;
  uint64_t bytes = 0;
  std::string sha256;
};

// iteration.json, and back. Numbers keep every bit; those that are not finite are texts ("nan").
// parse_record() throws UserError naming `path` for whatever is missing or of another type.
std::string record_text(const IterationRecord& record, const std::vector<FileStamp>& stamps);
IterationRecord parse_record(const std::string& path, const std::string& text,
                             std::vector<FileStamp>& stamps);

}  // namespace osprey
