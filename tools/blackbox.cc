#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iostream>

#include "core/amp/loss_scaler.h"
#include "core/base/strings.h"
#include "core/runner/black_box.h"
#include "tools/command_line.h"

namespace osprey {
namespace {

const char* word(BlackBoxEntry::Outcome outcome) {
  switch (outcome) {
    case BlackBoxEntry::Outcome::kRunning:
      return "running";
    case BlackBoxEntry::Outcome::kCommitted:
      return "committed";
    case BlackBoxEntry::Outcome::kAccumulated:
      return "accumulated";
    case BlackBoxEntry::Outcome::kSkipped:
      return "skipped";
  }
  return "?";
}

std::string clock_of(double seconds) {
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm local{};
  localtime_r(&whole, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

void print(const BlackBoxEntry& entry) {
  char line[160];
  std::snprintf(line, sizeof line, "%s  epoch %lld iter %lld  %-11s %.3f s  lr %.3e  grad_norm %.4g",
                clock_of(entry.began).c_str(), static_cast<long long>(entry.epoch),
                static_cast<long long>(entry.iter), word(entry.outcome), entry.seconds, entry.lr,
                entry.grad_norm);
  std::vector<std::string> losses;
  for (const auto& [name, value] : entry.losses) losses.push_back(str_cat(name, " ", value));
  std::cout << line;
  if (entry.loss_scale != 1) std::cout << "  loss_scale " << scale_text(entry.loss_scale);
  if (!losses.empty()) std::cout << "\n    " << join(losses);
  std::cout << "\n    " << entry.images << "\n";
}

void print_all(const std::string& path, int64_t last) {
  const bool folder = std::filesystem::is_directory(path);
  const std::string file = folder ? (std::filesystem::path(path) / "blackbox.bin").string() : path;
  const std::vector<BlackBoxEntry> entries = read_black_box(file);
  const auto count = static_cast<int64_t>(entries.size());
  for (int64_t i = std::max<int64_t>(0, count - last); i < count; ++i) print(entries[i]);
}

}  // namespace
}  // namespace osprey

int main(int argc, char** argv) {
  CLI::App app("Prints the last iterations of a run from its black box, which survives its end.");
  std::string path;
  int64_t last = osprey::BlackBox::kEntries;
  app.add_option("path", path, "a work dir, or its blackbox.bin")->required();
  app.add_option("--last", last, "so many of them (512)")->check(CLI::PositiveNumber);
  return osprey::run_tool(app, argc, argv, [&] { osprey::print_all(path, last); });
}
