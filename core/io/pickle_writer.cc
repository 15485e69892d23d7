#include "core/io/pickle_writer.h"

#include <cstring>
#include <unordered_map>

#include "core/base/error.h"

namespace osprey {
namespace {

constexpr int kMaxDepth = 500;  // far above any checkpoint, far below the end of the stack

// Pushes values in the order in which Python's pickler does; the opcodes are those of core/io/pickle.cc.
class Writer {
 public:
  explicit Writer(const std::function<StorageReference(const Tensor&)>& locate) : locate_(locate) {}

  std::string run(const PickleObject& root) {
    text_ = "\x80\x02";
    write(root, 0);
    text_ += '.';
    return std::move(text_);
  }

 private:
  // --- Bytes
  template <typename T>
  void put(char opcode, T value) {
    text_ += opcode;
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_text(const std::string& utf8) {
    put('X', static_cast<uint32_t>(utf8.size()));
    text_ += utf8;
  }
  void put_global(const char* module, const std::string& name) {
    text_ += std::string("c") + module + "\n" + name + "\n";
  }
  void put_integer(int64_t value) {
    if (value >= 0 && value < 256) return put('K', static_cast<uint8_t>(value));
    if (value == static_cast<int32_t>(value)) return put('J', static_cast<int32_t>(value));
    text_ += '\x8a';
    put('\x08', value);  // eight bytes, two's complement
  }
  void put_integers(const Shape& values) {
    text_ += '(';
    for (const int64_t value : values) put_integer(value);
    text_ += 't';
  }
  void put_double(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    put('G', __builtin_bswap64(bits));
  }
  // Protocol 2 has no bytes: _codecs.encode(text with code points below 256, "latin1").
  void put_bytes(const std::string& bytes) {
    std::string utf8;
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x80) utf8 += static_cast<char>(0xc0 | (byte >> 6));
      utf8 += static_cast<char>(byte < 0x80 ? byte : 0x80 | (byte & 0x3f));
    }
    put_global("_codecs", "encode");
    text_ += '(';
    put_text(utf8);
    put_text("latin1");
    text_ += "tR";
  }

  // --- The memo: containers and tensors are written once.
  bool recall(const PickleObject& object) {
    const auto slot = memo_.find(&object);
    if (slot == memo_.end()) return false;
    put('j', slot->second);
    return true;
  }
  void memorise(const PickleObject& object) {
    const auto slot = static_cast<uint32_t>(memo_.size());
    memo_[&object] = slot;
    put('r', slot);
  }

  // --- Containers and tensors
  void write_items(const PickleObject& object, char closing, int depth) {
    text_ += '(';
    for (const PickleObject* item : object.items) write(*item, depth);
    text_ += closing;
  }
  // A list is in the memo before its items are, as it may hold itself.
  void write_list(const PickleObject& list, int depth) {
    text_ += ']';
    memorise(list);
    if (!list.items.empty()) write_items(list, 'e', depth);
  }
  void write_dict(const PickleObject& dict, int depth) {
    if (dict.ordered) {
      put_empty_ordered_dict();
    } else {
      text_ += '}';
    }
    memorise(dict);
    if (!dict.items.empty()) write_items(dict, 'u', depth);
  }
  void put_empty_ordered_dict() {
    put_global("collections", "OrderedDict");
    text_ += ")R";
  }
  void write_set(const PickleObject& set, int depth) {
    put_global("__builtin__", "set");
    text_ += "(]";
    if (!set.items.empty()) write_items(set, 'e', depth);
    text_ += "tR";
    memorise(set);
  }
  // torch._utils._rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks).
  void write_tensor(const PickleObject& object) {
    const StorageReference storage = locate_(object.tensor);
    const Shape& shape = object.tensor.shape();
    Shape strides(shape.size());
    int64_t step = 1;
    for (size_t i = shape.size(); i-- > 0; step *= std::max<int64_t>(shape[i], 1)) strides[i] = step;
    put_global("torch._utils", "_rebuild_tensor_v2");
    text_ += "((";
    put_text("storage");
    put_global("torch", storage.type);
    put_text(storage.key);
    put_text("cpu");
    put_integer(storage.numel);
    text_ += "tQ";
    put_integer(storage.offset);
    put_integers(shape);
    put_integers(strides);
    text_ += '\x89';
    put_empty_ordered_dict();
    text_ += "tR";
    memorise(object);
  }

  void write(const PickleObject& object, int depth) {
    OSPREY_REQUIRE(depth < kMaxDepth, "pickle: the object is nested too deeply");
    switch (object.kind) {
      case PickleKind::kNone:
        text_ += 'N';
        return;
      case PickleKind::kBool:
        text_ += object.integer != 0 ? '\x88' : '\x89';
        return;
      case PickleKind::kInt:
        return put_integer(object.integer);
      case PickleKind::kFloat:
        return put_double(object.number);
      case PickleKind::kString:
        return put_text(object.text);
      case PickleKind::kBytes:
        return put_bytes(object.text);
      case PickleKind::kGlobal:
      case PickleKind::kStorage:
        throw Error(str_cat("pickle: '", object.text, "' is no value that can be written"));
      default:
        if (!recall(object)) write_shared(object, depth + 1);
    }
  }
  void write_shared(const PickleObject& object, int depth) {
    switch (object.kind) {
      case PickleKind::kList:
        return write_list(object, depth);
      case PickleKind::kDict:
        return write_dict(object, depth);
      case PickleKind::kSet:
        return write_set(object, depth);
      case PickleKind::kTensor:
        return write_tensor(object);
      default:
        write_items(object, 't', depth);
        memorise(object);
    }
  }

  const std::function<StorageReference(const Tensor&)>& locate_;
  std::string text_;
  std::unordered_map<const PickleObject*, uint32_t> memo_;
};

}  // namespace

std::string write_pickle(const PickleObject& root,
                         const std::function<StorageReference(const Tensor&)>& locate) {
  return Writer(locate).run(root);
}

}  // namespace osprey
