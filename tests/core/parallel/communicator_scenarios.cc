#include <signal.h>

#include <chrono>
#include <thread>

#include "core/parallel/gradient_buckets.h"
#include "tests/core/parallel/scenario.h"

namespace osprey::testing {
namespace {

int rank() { return world().rank(); }
int size() { return world().size(); }

// 1 + 2 + ... + size.
double sum_of_ranks() { return size() * (size() + 1) / 2.0; }

OSPREY_SCENARIO(sums) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI32, DType::kI64, DType::kF64}) {
    const bool host_only = dtype == DType::kF64 || dtype == DType::kI64;
    const Device device = host_only ? kCPU : own_device();
    for (const int64_t count : {0, 1, 1000}) {
      Tensor tensor = Tensor::full({count}, rank() + 1, dtype).to(device);
      world().all_reduce(tensor);
      expect_near(tensor, Tensor::full({count}, sum_of_ranks(), dtype), 0, str_cat("sum of ", dtype));
    }
  }
}

// 2048 + 1 is 2048 in f16, as is 2048 + 1 + 1 one after the other; in f32 the sum of three is 2050.
OSPREY_SCENARIO(halves_are_summed_in_f32) {
  Tensor tensor = Tensor::full({4}, rank() == 0 ? 2048 : 1, DType::kF16).to(own_device());
  world().all_reduce(tensor);
  expect_near(tensor, Tensor::full({4}, 2048 + size() - 1, DType::kF16), 0, "sum");
}

OSPREY_SCENARIO(messages) {
  const int last = size() - 1;
  Tensor tensor = random_values({3, 5}, static_cast<uint64_t>(rank())).to(own_device());
  world().broadcast(tensor, last);
  expect_near(tensor, random_values({3, 5}, static_cast<uint64_t>(last)), 0, "tensor of the last rank");

  std::string text = rank() == last ? "from the last" : "";
  world().broadcast(text, last);
  expect(text == "from the last", "text: " + text);

  const auto own = [](int of) { return std::string(static_cast<size_t>(of) * 100, 'x'); };  // rank 0: empty
  const std::vector<std::string> all = world().all_gather(own(rank()));
  const std::vector<std::string> gathered = world().gather(own(rank()));
  expect(gathered.empty() == !world().is_main(), "rank 0 alone gets what is gathered");
  for (int of = 0; of < size(); ++of) {
    expect(all.at(static_cast<size_t>(of)) == own(of), "all_gather");
    if (world().is_main()) expect(gathered.at(static_cast<size_t>(of)) == own(of), "gather");
  }

  expect(world().max(rank()) == last && world().min(-rank()) == -last, "extremes");
  expect(world().any(rank() == last) && !world().any(false), "any");
  world().barrier();
  expect(world().local_size() == size() && world().local_rank() == rank(), "all on one machine");
  {
    const OnOwn on_own;
    expect(world().size() == 1 && world().rank() == 0, "alone");
  }
  expect(world().size() == size(), "together again");
}

// The keys of mmcv change the number of messages, not the sums.
OSPREY_SCENARIO(buckets) {
  for (const BucketOptions& options :
       {BucketOptions{true, -1}, BucketOptions{true, 1}, BucketOptions{false, -1}}) {
    Tensors tensors, expected;
    uint64_t seed = 0;
    for (const Shape& shape :
         {Shape{3, 7}, Shape{}, Shape{0, 4}, Shape{300, 1000}, Shape{10}, Shape{100, 1000}}) {
      Tensor sum = Tensor::zeros(shape, DType::kF64);
      for (int of = 0; of < size(); ++of) {
        const Tensor part = random_values(shape, 100 * static_cast<uint64_t>(of) + seed, DType::kF64);
        for (int64_t i = 0; i < sum.numel(); ++i) sum.mutable_data<double>()[i] += part.data<double>()[i];
      }
      tensors.push_back(random_values(shape, 100 * static_cast<uint64_t>(rank()) + seed).to(own_device()));
      expected.push_back(sum);
      ++seed;
    }
    all_reduce_in_buckets(tensors, options);
    for (size_t i = 0; i < tensors.size(); ++i) {
      expect_near(tensors[i], expected[i], 1e-6, str_cat("tensor ", i));
      expect_same_everywhere(tensors[i], str_cat("tensor ", i));
    }
  }
}

// Ranks on one GPU: NCCL cannot serve them, their tensors go through host memory.
OSPREY_SCENARIO(share_a_device) {
  Tensor tensor = Tensor::full({10}, rank() + 1, DType::kF32).to(Device{DeviceType::kCUDA, 0});
  world().all_reduce(tensor);
  expect_near(tensor, Tensor::full({10}, sum_of_ranks(), DType::kF32), 0, "sum");
  world().broadcast(tensor, size() - 1);
}

OSPREY_SCENARIO(all_fail_alike) { throw UserError("a: must be > 0, got 0"); }

OSPREY_SCENARIO(last_rank_fails) {
  if (rank() == size() - 1) throw UserError("only here");
  world().barrier();
}

OSPREY_SCENARIO(last_rank_dies) {
  if (rank() == size() - 1) raise(SIGKILL);
  world().barrier();
}

// A GPU would hang or write past the end.
OSPREY_SCENARIO(unequal_counts) {
  Tensor tensor = Tensor::zeros({10 + rank()}, DType::kF32, own_device());
  world().all_reduce(tensor);
  (void)tensor.item_at(0);
}

}  // namespace
}  // namespace osprey::testing
