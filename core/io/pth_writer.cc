#include <filesystem>
#include <map>

#include "core/base/error.h"
#include "core/io/pickle_writer.h"
#include "core/io/pth.h"
#include "core/io/zip_writer.h"

namespace osprey {
namespace {

const char* storage_type(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "DoubleStorage";
    case DType::kF32:
      return "FloatStorage";
    case DType::kF16:
      return "HalfStorage";
    case DType::kBF16:
      return "BFloat16Storage";
    case DType::kI64:
      return "LongStorage";
    case DType::kI32:
      return "IntStorage";
    case DType::kU8:
      return "ByteStorage";
    case DType::kBool:
      return "BoolStorage";
  }
  throw Error(str_cat("pth: no storage type for ", dtype));
}

// Numbers the storages in the order in which tensors refer to them, as torch.save does.
class StorageTable {
 public:
  StorageReference locate(const Tensor& tensor) {
    OSPREY_REQUIRE(!tensor.device().is_cuda(), "pth: tensors are written from the CPU");
    const std::shared_ptr<Storage>& storage = tensor.storage();
    const auto [slot, added] = numbers_.try_emplace(storage.get(), storages_.size());
    if (added) storages_.push_back(storage);
    const size_t width = size_of(tensor.dtype());
    StorageReference reference{std::to_string(slot->second), storage_type(tensor.dtype()),
                               static_cast<int64_t>(storage->bytes() / width), 0};
    if (!tensor.empty()) {
      const auto offset = static_cast<const char*>(tensor.raw()) - static_cast<const char*>(storage->data());
      reference.offset = offset / static_cast<int64_t>(width);
    }
    return reference;
  }
  const std::vector<std::shared_ptr<Storage>>& storages() const { return storages_; }

 private:
  std::vector<std::shared_ptr<Storage>> storages_;
  std::map<const Storage*, size_t> numbers_;
};

}  // namespace

void write_pth(const std::string& path, const PickleObject& root) {
  StorageTable table;
  const std::string pickle = write_pickle(root, [&](const Tensor& tensor) { return table.locate(tensor); });
  const std::string folder = std::filesystem::path(path).stem().string() + "/";
  ZipWriter zip(path);
  zip.add(folder + "data.pkl", pickle);
  for (size_t i = 0; i < table.storages().size(); ++i) {
    zip.add(str_cat(folder, "data/", i), table.storages()[i]->data(), table.storages()[i]->bytes());
  }
  zip.add(folder + "version", "3\n");
  zip.commit();
}

}  // namespace osprey
