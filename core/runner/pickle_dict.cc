#include "core/runner/pickle_dict.h"

#include "core/base/error.h"

namespace osprey {

const PickleObject* PickleDict::find(const std::string& key) const {
  const PickleObject* value = given() ? dict_->find(key) : nullptr;
  return value == nullptr || value->is(PickleKind::kNone) ? nullptr : value;
}

int64_t PickleDict::integer(const std::string& key) const {
  const PickleObject* value = find(key);
  if (value == nullptr) return 0;
  if (value->is(PickleKind::kInt)) return value->integer;
  throw UserError(str_cat(path_, ": the checkpoint's meta data is damaged: ", key, " is not an integer"));
}

std::string PickleDict::text(const std::string& key) const {
  const PickleObject* value = find(key);
  return value != nullptr && value->is(PickleKind::kString) ? value->text : "";
}

std::vector<std::string> PickleDict::keys() const {
  std::vector<std::string> keys;
  for (size_t i = 0; given() && i + 1 < dict_->items.size(); i += 2) {
    if (dict_->items[i]->is(PickleKind::kString)) keys.push_back(dict_->items[i]->text);
  }
  return keys;
}

std::optional<double> number_of(const PickleObject& value) {
  if (value.is(PickleKind::kFloat)) return value.number;
  if (value.is(PickleKind::kInt) || value.is(PickleKind::kBool)) return static_cast<double>(value.integer);
  if (value.is(PickleKind::kTensor) && value.tensor.defined() && value.tensor.numel() == 1)
    return value.tensor.item();
  return std::nullopt;
}

}  // namespace osprey
