#include "core/base/logging.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <mutex>

#include "core/base/error.h"
#include "core/base/strings.h"

namespace osprey {
namespace {

// mmcv writes milliseconds after a comma and level names in capitals; its log tools rely on both. spdlog's
// own names are lower case, so log() puts them in front of the message.
constexpr char kPattern[] = "%Y-%m-%d %H:%M:%S,%e - osprey - %v";

spdlog::logger& process_logger() {
  static spdlog::logger& instance = []() -> spdlog::logger& {
    static spdlog::logger logger("osprey", std::make_shared<spdlog::sinks::stdout_color_sink_mt>());
    logger.set_pattern(kPattern);
    logger.set_level(spdlog::level::info);
    logger.flush_on(spdlog::level::info);
    return logger;
  }();
  return instance;
}

std::mutex& sinks_mutex() {
  static std::mutex mutex;
  return mutex;
}

int own_rank = 0;

// "rank 1: " in front of what others than rank 0 say.
std::string signed_by_rank(const std::string& message) {
  return own_rank == 0 ? message : str_cat("rank ", own_rank, ": ", message);
}

const char* level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "DEBUG";
    case LogLevel::kInfo:
      return "INFO";
    case LogLevel::kWarning:
      return "WARNING";
    case LogLevel::kError:
      return "ERROR";
  }
  return "INFO";
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

void write(LogLevel level, const std::string& message) {
  const std::lock_guard<std::mutex> lock(sinks_mutex());
  process_logger().log(spdlog_level(level), std::string(level_name(level)) + " - " + message);
}

}  // namespace

void log(LogLevel level, const std::string& message) {
  if (own_rank == 0 || level == LogLevel::kError) write(level, signed_by_rank(message));
}

void log_as_rank(int rank) { own_rank = rank; }

void log_of_rank(LogLevel level, const std::string& message) { write(level, signed_by_rank(message)); }

void log_to_files(LogLevel level, const std::string& message) {
  const std::lock_guard<std::mutex> lock(sinks_mutex());
  const std::string line = std::string(level_name(level)) + " - " + message;
  const spdlog::details::log_msg entry("osprey", spdlog_level(level), line);
  const auto& sinks = process_logger().sinks();
  for (size_t i = 1; i < sinks.size(); ++i) {  // the first is the console
    sinks[i]->log(entry);
    sinks[i]->flush();
  }
}

void set_log_level(const std::string& name) {
  for (const LogLevel level : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (name == level_name(level)) {
      process_logger().set_level(spdlog_level(level));
      return;
    }
  }
  throw UserError(str_cat("log_level '", name, "' is unknown; allowed: DEBUG, INFO, WARNING, ERROR"));
}

void add_log_file(const std::string& path) {
  try {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
    sink->set_pattern(kPattern);
    const std::lock_guard<std::mutex> lock(sinks_mutex());
    process_logger().sinks().push_back(std::move(sink));
  } catch (const spdlog::spdlog_ex& error) {
    throw UserError(str_cat("cannot open the log file ", path, ": ", error.what()));
  }
}

}  // namespace osprey
