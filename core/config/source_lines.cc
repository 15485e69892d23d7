#include <fstream>
#include <iomanip>

#include "core/config/config.h"

namespace osprey {
namespace {

// "   31 |       type: FocalLos" for a line that begins with "file:31:13: "; "" when it does not.
std::string excerpt(const std::string& line) {
  const size_t name_end = line.find(':');
  if (name_end == std::string::npos) return "";
  std::istringstream rest(line.substr(name_end));
  char first = 0, second = 0, third = 0;
  int number = 0, column = 0;
  if (!(rest >> first >> number >> second >> column >> third)) return "";
  if (first != ':' || second != ':' || third != ':' || number < 1) return "";
  std::ifstream file(line.substr(0, name_end));
  std::string source;
  for (int i = 0; i < number; ++i) {
    if (!std::getline(file, source)) return "";
  }
  std::ostringstream out;
  out << "\n" << std::setw(5) << number << " | " << source;
  return out.str();
}

}  // namespace

std::string with_source_lines(const std::string& message) {
  std::string out;
  for (const std::string& line : split(message, '\n')) {
    out += (out.empty() ? "" : "\n") + line + excerpt(line);
  }
  return out;
}

}  // namespace osprey
