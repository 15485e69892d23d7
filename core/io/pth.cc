#include "core/io/pth.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "core/io/file_bytes.h"
#include "core/io/zip_archive.h"

namespace osprey {
namespace {

constexpr std::string_view kZipMagic = "PK\x03\x04";
// torch.save's legacy magic number 0x1950a86a20f9469cfc6c as a pickle of protocol 2.
constexpr std::string_view kLegacyMagic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
// Expanded views may be larger than the file; hostile ones, taken together, must not be larger than memory.
constexpr uint64_t kExpansion = 16, kAlwaysAllowed = 64 << 20;

struct StorageType {
  const char* name;
  size_t width;                // bytes of an element in the file
  std::optional<DType> dtype;  // unset: widened to i32
};
constexpr StorageType kStorageTypes[] = {
    {"DoubleStorage", 8, DType::kF64},    {"FloatStorage", 4, DType::kF32}, {"HalfStorage", 2, DType::kF16},
    {"BFloat16Storage", 2, DType::kBF16}, {"LongStorage", 8, DType::kI64},  {"IntStorage", 4, DType::kI32},
    {"ShortStorage", 2, std::nullopt},    {"CharStorage", 1, std::nullopt}, {"ByteStorage", 1, DType::kU8},
    {"BoolStorage", 1, DType::kBool}};

const StorageType& type_of(const PickleObject& storage, const std::string& path) {
  for (const StorageType& type : kStorageTypes) {
    if (storage.storage_type == type.name) return type;
  }
  throw UserError(str_cat(path, ": tensors of type ", storage.storage_type, " are not supported"));
}

template <typename From>
Tensor widen(const std::string& raw) {
  Tensor wide({static_cast<int64_t>(raw.size() / sizeof(From))}, DType::kI32);
  for (int64_t i = 0; i < wide.numel(); ++i) {
    From value;
    std::memcpy(&value, raw.data() + i * static_cast<int64_t>(sizeof(From)), sizeof value);
    wide.mutable_data<int32_t>()[i] = value;
  }
  return wide;
}

// The elements of a storage as a tensor of one dimension. read(target, bytes) delivers the raw bytes, of
// which there are `available`.
template <typename Read>
Tensor load_storage(const PickleObject& storage, const std::string& path, uint64_t available,
                    const Read& read) {
  const StorageType& type = type_of(storage, path);
  if (storage.numel < 0 || static_cast<uint64_t>(storage.numel) > available / type.width) {
    throw UserError(str_cat(path, ": storage '", storage.text, "' claims ", storage.numel,
                            " elements, the file has ", available, " bytes for it"));
  }
  const uint64_t bytes = static_cast<uint64_t>(storage.numel) * type.width;
  if (!type.dtype) {
    std::string raw(bytes, '\0');
    if (bytes > 0) read(raw.data(), bytes);
    return type.width == 1 ? widen<int8_t>(raw) : widen<int16_t>(raw);
  }
  Tensor tensor({storage.numel}, *type.dtype);
  if (bytes == 0) return tensor;
  read(tensor.mutable_raw(), bytes);
  if (type.dtype == DType::kBool) {  // any other byte in a C++ bool is undefined behaviour
    auto* flags = static_cast<uint8_t*>(tensor.mutable_raw());
    for (uint64_t i = 0; i < bytes; ++i) flags[i] = flags[i] != 0;
  }
  return tensor;
}

using Storages = std::map<std::string, Tensor>;

// Row-major strides of a shape.
std::vector<int64_t> dense_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

bool is_dense(const PickleObject& view) {
  const std::vector<int64_t> dense = dense_strides(view.size);
  for (size_t i = 0; i < view.size.size(); ++i) {
    if (view.size[i] > 1 && view.stride[i] != dense[i]) return false;
  }
  return true;
}

// Elements of a view; checks that all of them lie within the storage and that a copy of them as doubles
// keeps within `allowed` bytes.
int64_t checked_numel(const PickleObject& view, int64_t storage_numel, uint64_t allowed,
                      const std::string& path) {
  const auto invalid = [&](const char* reason) {
    throw UserError(str_cat(path, ": a tensor of shape ", to_string(view.size), " in storage '",
                            view.storage->text, "' ", reason));
  };
  if (view.size.size() != view.stride.size()) invalid("has strides of another rank");
  __int128 numel = 1, last = view.offset;
  for (size_t i = 0; i < view.size.size(); ++i) {
    if (view.size[i] < 0 || view.stride[i] < 0) invalid("has a negative size or stride");
    numel *= view.size[i];
    if (numel > INT64_MAX) invalid("is too large");
    last += static_cast<__int128>(std::max<int64_t>(view.size[i] - 1, 0)) * view.stride[i];
    if (last > INT64_MAX) invalid("reaches outside it");
  }
  if (view.offset < 0 || (numel > 0 && last >= storage_numel)) invalid("reaches outside it");
  if (static_cast<uint64_t>(numel) > allowed / sizeof(double)) invalid("is far larger than the file");
  return static_cast<int64_t>(numel);
}

// Copies a strided view into a dense tensor.
Tensor gather(const PickleObject& view, const Tensor& storage) {
  Tensor dense(view.size, storage.dtype());
  const size_t width = size_of(storage.dtype());
  const auto* source = static_cast<const char*>(storage.raw());
  auto* target = static_cast<char*>(dense.mutable_raw());
  std::vector<int64_t> index(view.size.size(), 0);
  int64_t at = view.offset;
  for (int64_t i = 0; i < dense.numel(); ++i, target += width) {
    std::memcpy(target, source + static_cast<size_t>(at) * width, width);
    for (size_t axis = index.size(); axis-- > 0;) {
      at += view.stride[axis];
      if (++index[axis] < view.size[axis]) break;
      at -= view.stride[axis] * view.size[axis];
      index[axis] = 0;
    }
  }
  return dense;
}

void fill_tensors(PickleArena& arena, const Storages& storages, uint64_t file_size, const std::string& path) {
  uint64_t allowed = std::max(file_size * kExpansion, kAlwaysAllowed);
  for (PickleObject& object : arena.objects()) {
    if (!object.is(PickleKind::kTensor)) continue;
    const Tensor& storage = storages.at(object.storage->text);
    const int64_t numel = checked_numel(object, storage.numel(), allowed, path);
    if (numel == 0) {
      object.tensor = Tensor(object.size, storage.dtype());
    } else if (is_dense(object)) {
      object.tensor = storage.slice(object.offset, object.offset + numel).reshape(object.size);
    } else {
      object.tensor = gather(object, storage);
      allowed -= object.tensor.bytes();
    }
  }
}

// The storages that tensors refer to, by key. Two references must agree, or the second would read the first's
// bytes as another type.
std::map<std::string, const PickleObject*> storages_of(PickleArena& arena, const std::string& path) {
  std::map<std::string, const PickleObject*> storages;
  for (const PickleObject& object : arena.objects()) {
    if (!object.is(PickleKind::kStorage)) continue;
    const PickleObject& first = *storages.emplace(object.text, &object).first->second;
    if (first.storage_type != object.storage_type || first.numel != object.numel) {
      throw UserError(str_cat(path, ": storage '", object.text, "' is described in two ways"));
    }
  }
  return storages;
}

// PREFIX/data.pkl, PREFIX/data/KEY for each storage, PREFIX/byteorder.
PthFile read_zip(const FileBytes& file, bool with_tensors) {
  const ZipArchive archive(file);
  const std::string& path = file.path();
  std::string prefix;
  for (const auto& [name, entry] : archive.entries()) {
    if (ends_with(name, "/data.pkl")) prefix = name.substr(0, name.size() - std::string("data.pkl").size());
  }
  if (prefix.empty())
    throw UserError(str_cat(path, ": a zip file, but not one of torch.save: data.pkl is missing"));
  if (archive.has(prefix + "byteorder") && archive.read(prefix + "byteorder") != "little") {
    throw UserError(str_cat(path, ": was written on a big-endian machine, which is not supported"));
  }
  PthFile pth{std::make_shared<PickleArena>(), nullptr};
  const std::string pickle = archive.read(prefix + "data.pkl");
  pth.root = parse_pickle(pickle, path, *pth.arena).first;
  if (!with_tensors) return pth;
  Storages storages;
  for (const auto& [key, storage] : storages_of(*pth.arena, path)) {
    const std::string name = prefix + "data/" + key;
    const uint64_t size = archive.has(name) ? archive.entries().at(name).size : 0;
    const auto read = [&](void* target, uint64_t bytes) {
      const std::string raw = archive.read(name);
      std::memcpy(target, raw.data(), bytes);
    };
    storages.emplace(key, load_storage(*storage, path, size, read));
  }
  fill_tensors(*pth.arena, storages, file.size(), path);
  return pth;
}

// Pickles of the magic number, the protocol version, facts of the machine, the object, and the list of
// storage keys; then each storage: i64 count of elements, elements.
PthFile read_legacy(const FileBytes& file, bool with_tensors) {
  const std::string& path = file.path();
  const std::string content = file.read(0, file.size());
  std::string_view rest = content;
  PthFile pth{std::make_shared<PickleArena>(), nullptr};
  const auto next_pickle = [&] {
    const auto [object, bytes] = parse_pickle(rest, path, *pth.arena);
    rest.remove_prefix(bytes);
    return object;
  };
  next_pickle();
  next_pickle();
  const PickleObject* little_endian = next_pickle()->find("little_endian");
  if (little_endian && little_endian->integer == 0) {
    throw UserError(str_cat(path, ": was written on a big-endian machine, which is not supported"));
  }
  pth.root = next_pickle();
  if (!with_tensors) return pth;
  const auto known = storages_of(*pth.arena, path);
  Storages storages;
  for (const PickleObject* key : next_pickle()->items) {
    const auto storage = known.find(key->text);
    if (storage == known.end()) throw UserError(str_cat(path, ": no tensor uses storage '", key->text, "'"));
    int64_t count = 0;
    if (rest.size() < sizeof count) throw UserError(str_cat(path, ": the file is truncated"));
    std::memcpy(&count, rest.data(), sizeof count);
    rest.remove_prefix(sizeof count);
    if (count != storage->second->numel) {
      throw UserError(str_cat(path, ": storage '", key->text, "' has ", count,
                              " elements, its tensors expect ", storage->second->numel));
    }
    const auto read = [&](void* target, uint64_t bytes) {
      std::memcpy(target, rest.data(), bytes);
      rest.remove_prefix(bytes);
    };
    storages.emplace(key->text, load_storage(*storage->second, path, rest.size(), read));
  }
  if (storages.size() != known.size())
    throw UserError(str_cat(path, ": the data of some tensors is missing"));
  fill_tensors(*pth.arena, storages, file.size(), path);
  return pth;
}

std::string first_bytes(const FileBytes& file) {
  return file.read(0, std::min<uint64_t>(file.size(), kLegacyMagic.size()));
}

PthFile read(const std::string& path, bool with_tensors) {
  const FileBytes file(path);
  const std::string begin = first_bytes(file);
  if (begin.compare(0, kZipMagic.size(), kZipMagic) == 0) return read_zip(file, with_tensors);
  if (begin == kLegacyMagic) return read_legacy(file, with_tensors);
  throw UserError(
      str_cat(path, ": not a file of torch.save (neither its zip format nor the one before PyTorch 1.6)"));
}

}  // namespace

bool is_pth(const std::string& path) {
  const std::string begin = first_bytes(FileBytes(path));
  return begin.compare(0, kZipMagic.size(), kZipMagic) == 0 || begin == kLegacyMagic;
}

PthFile read_pth(const std::string& path) { return read(path, /*with_tensors=*/true); }
PthFile read_pth_objects(const std::string& path) { return read(path, /*with_tensors=*/false); }

std::vector<std::pair<std::string, Tensor>> pth_state_dict(const PthFile& file, const std::string& path) {
  const PickleObject* dict = file.root->find("state_dict");
  if (dict == nullptr) dict = file.root;
  std::vector<std::pair<std::string, Tensor>> tensors;
  if (dict->is(PickleKind::kDict)) {
    for (size_t i = 0; i + 1 < dict->items.size(); i += 2) {
      const PickleObject& name = *dict->items[i];
      const PickleObject& value = *dict->items[i + 1];
      if (!name.is(PickleKind::kString) || !value.is(PickleKind::kTensor)) continue;
      const bool parallel = starts_with(name.text, "module.");
      tensors.emplace_back(parallel ? name.text.substr(7) : name.text, value.tensor);
    }
  }
  if (tensors.empty()) throw UserError(str_cat(path, ": there is no state_dict with tensors in the file"));
  return tensors;
}

}  // namespace osprey
