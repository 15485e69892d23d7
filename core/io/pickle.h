#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/tensor/tensor.h"

// The part of Python's pickle format that checkpoints need: plain data, tensors by reference to their
// storage, and nothing that could run code.
namespace osprey {

enum class PickleKind {
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kBytes,
  kList,
  kTuple,
  kSet,
  kDict,
  kGlobal,
  kStorage,
  kTensor
};

struct PickleObject {
  PickleKind kind = PickleKind::kNone;
  int64_t integer = 0;               // kBool, kInt
  double number = 0;                 // kFloat; an int beyond 64 bits becomes the nearest double
  std::string text;                  // kString (UTF-8), kBytes, kGlobal ("module.name"), kStorage (its key)
  std::vector<PickleObject*> items;  // kList, kTuple, kSet; kDict: key, value, key, value, ... in order
  bool ordered = false;              // kDict: an OrderedDict

  std::string storage_type;           // kStorage: "FloatStorage"
  int64_t numel = 0;                  // kStorage
  PickleObject* storage = nullptr;    // kTensor
  int64_t offset = 0;                 // kTensor, in elements
  std::vector<int64_t> size, stride;  // kTensor, in elements
  Tensor tensor;                      // kTensor: filled in when the storage has been read

  bool is(PickleKind wanted) const { return kind == wanted; }
  // Of a dict with string keys; nullptr when there is none.
  const PickleObject* find(const std::string& key) const;
  // Of a dict: appends an entry. The caller keeps keys distinct.
  void put(PickleObject* key, PickleObject* value) { items.insert(items.end(), {key, value}); }
};

// Owns the objects of one or more pickles; an arena, so that neither cycles nor deep nesting can hurt. It
// counts what they take: a byte of a pickle may stand for an object, or for a copy of a long list.
class PickleArena {
 public:
  PickleObject* add(PickleKind kind) {
    objects_.emplace_back();
    objects_.back().kind = kind;
    charge(sizeof(PickleObject));
    return &objects_.back();
  }
  void charge(size_t bytes) { bytes_ += bytes; }
  size_t bytes() const { return bytes_; }
  PickleObject* integer(int64_t value, PickleKind kind = PickleKind::kInt);
  PickleObject* boolean(bool value) { return integer(value, PickleKind::kBool); }
  PickleObject* number(double value);
  PickleObject* text(const std::string& value);
  PickleObject* tensor(const Tensor& value);

  std::deque<PickleObject>& objects() { return objects_; }

 private:
  std::deque<PickleObject> objects_;
  size_t bytes_ = 0;
};

// Reads one pickle from the front of `bytes`; returns its value and the bytes it took. `where` begins
// messages. Knows dict, list, tuple, set, OrderedDict, numbers, text, bytes, torch.Size, numpy scalars and
// the functions that rebuild tensors. Throws UserError for any other class or function, naming it, and for
// malformed input.
std::pair<PickleObject*, size_t> parse_pickle(std::string_view bytes, const std::string& where,
                                              PickleArena& arena);

}  // namespace osprey
