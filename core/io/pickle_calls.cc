#include "core/io/pickle_calls.h"

#include <cstring>
#include <functional>
#include <map>

#include "core/base/error.h"

namespace osprey::internal {
namespace {

struct Call {
  std::string function;
  const std::vector<PickleObject*>& args;
  const std::string& where;
  PickleArena& arena;

  [[noreturn]] void malformed() const {
    throw UserError(str_cat(where, ": the pickle calls ", function, " with arguments it does not take"));
  }
  const PickleObject& arg(size_t i, PickleKind kind) const {
    if (i >= args.size() || !args[i]->is(kind)) malformed();
    return *args[i];
  }
  std::vector<int64_t> integers(size_t i) const {
    std::vector<int64_t> values;
    for (const PickleObject* item : arg(i, PickleKind::kTuple).items) {
      if (!item->is(PickleKind::kInt)) malformed();
      values.push_back(item->integer);
    }
    return values;
  }
};

// collections.OrderedDict(), OrderedDict([(k, v), ...]).
PickleObject* make_ordered_dict(const Call& call) {
  PickleObject* dict = call.arena.add(PickleKind::kDict);
  dict->ordered = true;
  if (call.args.empty()) return dict;
  for (const PickleObject* pair : call.arg(0, PickleKind::kList).items) {
    if (pair->items.size() != 2) call.malformed();
    dict->items.insert(dict->items.end(), pair->items.begin(), pair->items.end());
  }
  call.arena.charge(dict->items.size() * sizeof(PickleObject*));
  return dict;
}

// set([...]), torch.Size((...)), ...: a container of the items of its one argument.
std::function<PickleObject*(const Call&)> make_container(PickleKind kind) {
  return [kind](const Call& call) {
    PickleObject* made = call.arena.add(kind);
    if (!call.args.empty()) made->items = call.args[0]->items;
    call.arena.charge(made->items.size() * sizeof(PickleObject*));
    return made;
  };
}

// torch._utils._rebuild_tensor(storage, offset, size, stride); _v2 adds requires_grad and hooks.
PickleObject* rebuild_tensor(const Call& call) {
  call.arg(0, PickleKind::kStorage);
  PickleObject* tensor = call.arena.add(PickleKind::kTensor);
  tensor->storage = call.args[0];
  tensor->offset = call.arg(1, PickleKind::kInt).integer;
  tensor->size = call.integers(2);
  tensor->stride = call.integers(3);
  call.arena.charge((tensor->size.size() + tensor->stride.size()) * sizeof(int64_t));
  return tensor;
}

PickleObject* rebuild_parameter(const Call& call) {
  call.arg(0, PickleKind::kTensor);
  return call.args[0];
}

// _codecs.encode(text, "latin1"): how protocol 2 spells bytes. The text holds code points below 256 as UTF-8.
PickleObject* encode_latin1(const Call& call) {
  const std::string& text = call.arg(0, PickleKind::kString).text;
  PickleObject* bytes = call.arena.add(PickleKind::kBytes);
  call.arena.charge(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      bytes->text += text[i];
    } else if ((lead == 0xc2 || lead == 0xc3) && i + 1 < text.size()) {
      bytes->text += static_cast<char>(((lead & 3) << 6) | (static_cast<unsigned char>(text[++i]) & 0x3f));
    } else {
      call.malformed();
    }
  }
  return bytes;
}

// numpy.dtype("f8", ...): kept as its name.
PickleObject* make_numpy_dtype(const Call& call) {
  PickleObject* dtype = call.arena.add(PickleKind::kString);
  dtype->text = call.arg(0, PickleKind::kString).text;
  call.arena.charge(dtype->text.size());
  return dtype;
}

template <typename T>
PickleObject* decode_scalar(const Call& call, PickleKind kind, const std::string& bytes) {
  if (bytes.size() != sizeof(T)) call.malformed();
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  PickleObject* scalar = call.arena.add(kind);
  scalar->integer = static_cast<int64_t>(value);
  scalar->number = static_cast<double>(value);
  return scalar;
}

// numpy.core.multiarray.scalar(dtype, bytes).
PickleObject* make_numpy_scalar(const Call& call) {
  const std::string& dtype = call.arg(0, PickleKind::kString).text;
  const std::string& bytes = call.arg(1, PickleKind::kBytes).text;
  if (dtype == "f8") return decode_scalar<double>(call, PickleKind::kFloat, bytes);
  if (dtype == "f4") return decode_scalar<float>(call, PickleKind::kFloat, bytes);
  if (dtype == "i8") return decode_scalar<int64_t>(call, PickleKind::kInt, bytes);
  if (dtype == "i4") return decode_scalar<int32_t>(call, PickleKind::kInt, bytes);
  if (dtype == "b1") return decode_scalar<uint8_t>(call, PickleKind::kBool, bytes);
  call.malformed();
}

// torch.device("cuda", 0), and other things whose value does not matter here.
PickleObject* make_none(const Call& call) { return call.arena.add(PickleKind::kNone); }

const std::map<std::string, std::function<PickleObject*(const Call&)>>& known_calls() {
  static const std::map<std::string, std::function<PickleObject*(const Call&)>> calls = {
      {"collections.OrderedDict", make_ordered_dict},
      {"torch._utils._rebuild_tensor", rebuild_tensor},
      {"torch._utils._rebuild_tensor_v2", rebuild_tensor},
      {"torch._utils._rebuild_parameter", rebuild_parameter},
      {"torch.Size", make_container(PickleKind::kTuple)},
      {"torch.device", make_none},
      {"__builtin__.set", make_container(PickleKind::kSet)},
      {"builtins.set", make_container(PickleKind::kSet)},
      {"__builtin__.frozenset", make_container(PickleKind::kSet)},
      {"builtins.frozenset", make_container(PickleKind::kSet)},
      {"_codecs.encode", encode_latin1},
      {"numpy.dtype", make_numpy_dtype},
      {"numpy.core.multiarray.scalar", make_numpy_scalar},
      {"numpy._core.multiarray.scalar", make_numpy_scalar},
  };
  return calls;
}

}  // namespace

PickleObject* pickle_call(const PickleObject& function, PickleObject& args, const std::string& where,
                          PickleArena& arena) {
  const auto found = known_calls().find(function.text);
  if (!function.is(PickleKind::kGlobal) || !args.is(PickleKind::kTuple) || found == known_calls().end()) {
    throw UserError(str_cat(where, ": the pickle calls '",
                            function.is(PickleKind::kGlobal) ? function.text : "?",
                            "'; only tensors and plain containers are read, nothing is executed"));
  }
  return found->second({function.text, args.items, where, arena});
}

PickleObject* pickle_storage(const PickleObject& id, const std::string& where, PickleArena& arena) {
  const Call call{"a persistent id", id.items, where, arena};
  if (!id.is(PickleKind::kTuple) || call.arg(0, PickleKind::kString).text != "storage") call.malformed();
  const std::string& type = call.arg(1, PickleKind::kGlobal).text;
  // A view on another storage; torch wrote these before version 0.4 only.
  if (id.items.size() > 5 && !id.items[5]->is(PickleKind::kNone)) call.malformed();
  PickleObject* storage = arena.add(PickleKind::kStorage);
  storage->storage_type = type.substr(type.rfind('.') + 1);
  storage->text = call.arg(2, PickleKind::kString).text;
  storage->numel = call.arg(4, PickleKind::kInt).integer;
  arena.charge(storage->storage_type.size() + storage->text.size());
  return storage;
}

}  // namespace osprey::internal
