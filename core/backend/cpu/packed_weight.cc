#include "core/backend/cpu/packed_weight.h"

#include <cstddef>
#include <list>

namespace osprey::onednn {
namespace {

// Forward and backward each, for a few shapes whose preferred layouts differ.
constexpr size_t kMaxCopies = 8;

struct Copy {
  ptrdiff_t offset;  // of the weight in its storage: slices of one storage are different weights
  dnnl::memory::desc layout;
  uint64_t version;
  Tensor content;
};
using Copies = std::list<Copy>;  // most recently used first

Copies& copies_of(Storage& storage) {
  if (!storage.derived()) storage.derived() = std::make_shared<Copies>();
  return *std::static_pointer_cast<Copies>(storage.derived());
}

Copy& find_or_add(Copies& copies, ptrdiff_t offset, const dnnl::memory::desc& layout) {
  for (auto it = copies.begin(); it != copies.end(); ++it) {
    if (it->offset != offset || it->layout != layout) continue;
    copies.splice(copies.begin(), copies, it);
    return copies.front();
  }
  if (copies.size() == kMaxCopies) copies.pop_back();
  copies.push_front({offset, layout, 0, Tensor()});
  return copies.front();
}

// `weight` in its compute dtype.
void renew(Copy& copy, Tensor weight, const dnnl::memory::desc& plain) {
  if (plain == copy.layout) {
    copy.content = std::move(weight);  // widened; there is nothing to reorder
    return;
  }
  if (!copy.content.defined()) {
    copy.content = Tensor({static_cast<int64_t>(copy.layout.get_size())}, DType::kU8);
  }
  reorder(view(plain, weight), writable(copy.layout, copy.content));
}

}  // namespace

dnnl::memory packed_weight(const Tensor& weight, const dnnl::memory::desc& plain,
                           const dnnl::memory::desc& wanted) {
  const bool widened = compute_dtype(weight.dtype()) != weight.dtype();
  if (!widened && plain == wanted) return view(plain, weight);

  Storage& storage = *weight.storage();
  const std::lock_guard lock(storage.derived_mutex());
  const uint64_t version = storage.version();
  const ptrdiff_t offset = static_cast<const char*>(weight.raw()) - static_cast<const char*>(storage.data());
  Copy& copy = find_or_add(copies_of(storage), offset, wanted);
  if (!copy.content.defined() || copy.version != version) {
    renew(copy, weight.to(compute_dtype(weight.dtype())), plain);
    copy.version = version;
  }
  return view(wanted, copy.content);
}

}  // namespace osprey::onednn
