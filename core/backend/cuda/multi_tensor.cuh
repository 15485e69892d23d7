#pragma once

#include <cstring>
#include <vector>

#include "core/backend/cuda/launch.cuh"

// One pass over the elements of hundreds of tensors: a launch each would cost the host more than the work
// costs the device. The tensors are cut into pieces; a table of them and one of the items travel to the
// device ahead of the launch, which the host does not wait for.
namespace osprey {
namespace internal {

constexpr int64_t kPieceElements = 1 << 14;

struct TensorPiece {  // elements [begin, end) of an item
  int64_t item, begin, end;
};

template <typename Row>
Tensor uploaded(const std::vector<Row>& rows, Device device) {
  static_assert(std::is_trivially_copyable_v<Row>);
  Tensor bytes({static_cast<int64_t>(rows.size() * sizeof(Row))}, DType::kU8);
  std::memcpy(bytes.mutable_raw(), rows.data(), rows.size() * sizeof(Row));
  return bytes.to(device);
}

template <typename Item, typename F>
struct PieceElement {
  const Item* items;
  const TensorPiece* pieces;
  F f;
  OSPREY_HD void operator()(int64_t row, int64_t c_begin, int64_t c_end) const {
    const TensorPiece& piece = pieces[row];
    for (int64_t i = piece.begin + c_begin; i < piece.begin + c_end && i < piece.end; ++i) {
      f(items[piece.item], i);
    }
  }
};

}  // namespace internal

// Items on the device, with the pieces of their tensors. item.n: elements.
template <typename Item>
class MultiTensor {
 public:
  MultiTensor(const std::vector<Item>& items, Device device) : device_(device) {
    std::vector<internal::TensorPiece> pieces;
    for (size_t item = 0; item < items.size(); ++item) {
      for (int64_t begin = 0; begin < items[item].n; begin += internal::kPieceElements) {
        pieces.push_back(
            {static_cast<int64_t>(item), begin, std::min(begin + internal::kPieceElements, items[item].n)});
      }
    }
    num_pieces_ = static_cast<int64_t>(pieces.size());
    items_ = internal::uploaded(items, device);
    pieces_ = internal::uploaded(pieces, device);
  }

  int64_t num_pieces() const { return num_pieces_; }
  const Item* items() const { return static_cast<const Item*>(items_.raw()); }
  const internal::TensorPiece* pieces() const {
    return static_cast<const internal::TensorPiece*>(pieces_.raw());
  }
  // f(item, i) for every element of every item.
  template <typename F>
  void for_each_element(const F& f) const {
    parallel_rows_cuda(device_, num_pieces_, internal::kPieceElements,
                       internal::PieceElement<Item, F>{items(), pieces(), f});
  }

 private:
  Device device_;
  int64_t num_pieces_;
  Tensor items_, pieces_;
};

}  // namespace osprey
