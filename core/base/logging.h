#pragma once

#include <string>

// Process-wide log: console plus any number of files, in mmdetection's line format
// "2026-01-31 22:40:50,985 - osprey - INFO - message". spdlog stays behind this header: it costs
// seconds per including file, and nvcc cannot compile fmt 9 in C++20.
namespace osprey {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

void log(LogLevel level, const std::string& message);
inline void log_debug(const std::string& message) { log(LogLevel::kDebug, message); }
inline void log_info(const std::string& message) { log(LogLevel::kInfo, message); }
inline void log_warning(const std::string& message) { log(LogLevel::kWarning, message); }
inline void log_error(const std::string& message) { log(LogLevel::kError, message); }

// Into the files of add_log_file() alone: for the last words of a run, which its main prints to the console
// itself.
void log_to_files(LogLevel level, const std::string& message);

// Of several processes that do the same one speaks: the others log errors alone, to the console, with their
// rank in front. What only one of them can know goes through log_of_rank(), which always speaks.
void log_as_rank(int rank);
void log_of_rank(LogLevel level, const std::string& message);

// "DEBUG" | "INFO" | "WARNING" | "ERROR" (mmdetection's `log_level`). Throws UserError otherwise.
void set_log_level(const std::string& name);

// Mirrors every later line into `path` (appended). Throws UserError when it cannot be opened.
void add_log_file(const std::string& path);

}  // namespace osprey
