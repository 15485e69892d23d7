#include "core/evaluation/ascii_table.h"

#include <algorithm>

namespace osprey {

std::string ascii_table(const std::vector<std::string>& header, const std::vector<std::string>& cells) {
  const size_t columns = header.size();
  if (columns == 0) return "";
  std::vector<size_t> widths;
  for (const std::string& title : header) widths.push_back(title.size());
  for (size_t i = 0; i < cells.size(); ++i)
    widths[i % columns] = std::max(widths[i % columns], cells[i].size());

  std::string border = "+", text;
  for (const size_t width : widths) border += std::string(width + 2, '-') + "+";
  const auto add_row = [&](const auto& cell_at) {
    text += "|";
    for (size_t c = 0; c < columns; ++c) {
      const std::string cell = cell_at(c);
      text += " " + cell + std::string(widths[c] - cell.size(), ' ') + " |";
    }
    text += "\n";
  };
  text += border + "\n";
  add_row([&](size_t c) { return header[c]; });
  text += border + "\n";
  for (size_t row = 0; row < cells.size(); row += columns) {
    add_row([&](size_t c) { return row + c < cells.size() ? cells[row + c] : std::string(); });
  }
  return text + border + "\n";
}

}  // namespace osprey
