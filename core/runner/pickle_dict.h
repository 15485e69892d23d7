#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/io/pickle.h"

namespace osprey {

// A dict of a pickle, read by key and type. Whatever is not there, or is None, counts as absent.
class PickleDict {
 public:
  // `dict` may be null or no dict: then every key is absent. Keeps references to both.
  PickleDict(const PickleObject* dict, const std::string& path) : dict_(dict), path_(path) {}
  bool given() const { return dict_ != nullptr && dict_->is(PickleKind::kDict); }

  const PickleObject* find(const std::string& key) const;  // null when absent
  // 0 when absent; throws UserError naming the file when it is no int.
  int64_t integer(const std::string& key) const;
  std::string text(const std::string& key) const;  // "" unless a string
  std::vector<std::string> keys() const;           // the strings among them
  PickleDict below(const std::string& key) const { return {find(key), path_}; }

 private:
  const PickleObject* dict_;
  const std::string& path_;
};

// Of an int, a float, a bool, or a tensor of one element.
std::optional<double> number_of(const PickleObject& value);

}  // namespace osprey
