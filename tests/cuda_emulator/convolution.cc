#include "tests/cuda_emulator/convolution.h"

#include <algorithm>
#include <vector>

#include "core/base/parallel.h"

namespace osprey::emulator {
namespace {

constexpr int64_t kPatchFloats = 4 << 20;  // of a block of output rows: bounds the memory of large maps

// Calls f(position in the patch row, index into x or -1 where the padding is) for one output pixel of one
// group, a run of ci / groups channels at a time.
template <typename F>
void for_each_tap(const ConvolutionShape& s, int64_t n, int64_t oy, int64_t ox, int64_t group, const F& f) {
  const int64_t channels = s.ci / s.groups;
  for (int64_t ky = 0; ky < s.kh; ++ky) {
    const int64_t y = oy * s.stride_h - s.pad_h + ky * s.dilation_h;
    for (int64_t kx = 0; kx < s.kw; ++kx) {
      const int64_t x = ox * s.stride_w - s.pad_w + kx * s.dilation_w;
      const bool inside = y >= 0 && y < s.h && x >= 0 && x < s.w;
      f((ky * s.kw + kx) * channels, inside ? ((n * s.h + y) * s.w + x) * s.ci + group * channels : -1);
    }
  }
}

// Rows [begin, end) of the output of image n, for one group.
struct Block {
  int64_t n, begin, end, group;
};

void load_patches(const ConvolutionShape& s, const Block& b, const std::vector<float>& x,
                  std::vector<float>& patches) {
  const int64_t channels = s.ci / s.groups, width = channels * s.kh * s.kw;
  parallel_ranges((b.end - b.begin) * s.ow, 64, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      float* row = patches.data() + p * width;
      for_each_tap(s, b.n, b.begin + p / s.ow, p % s.ow, b.group, [&](int64_t to, int64_t from) {
        if (from < 0) {
          std::fill_n(row + to, channels, 0.0f);
        } else {
          std::copy_n(x.data() + from, channels, row + to);
        }
      });
    }
  });
}

void add_patches(const ConvolutionShape& s, const Block& b, const std::vector<float>& patches,
                 std::vector<float>& x) {
  const int64_t channels = s.ci / s.groups, width = channels * s.kh * s.kw;
  for (int64_t p = 0; p < (b.end - b.begin) * s.ow; ++p) {
    const float* row = patches.data() + p * width;
    for_each_tap(s, b.n, b.begin + p / s.ow, p % s.ow, b.group, [&](int64_t from, int64_t to) {
      for (int64_t c = 0; to >= 0 && c < channels; ++c) x[to + c] += row[from + c];
    });
  }
}

struct Operands {
  std::vector<float> x, weight, y;
};

void run_block(ConvolutionPass pass, const ConvolutionShape& s, const Block& b, Operands& o,
               std::vector<float>& patches) {
  const int64_t width = static_cast<int64_t>(s.ci / s.groups) * s.kh * s.kw, out = s.co / s.groups;
  const int64_t pixels = (b.end - b.begin) * s.ow;
  patches.resize(pixels * width);
  float* y = o.y.data() + ((b.n * s.oh + b.begin) * s.ow) * s.co + b.group * out;
  float* weight = o.weight.data() + b.group * out * width;
  switch (pass) {
    case ConvolutionPass::kForward:
      load_patches(s, b, o.x, patches);
      return add_product({pixels, out, width, false, true, width, width, s.co}, patches.data(), weight, y);
    case ConvolutionPass::kBackwardData:
      std::fill(patches.begin(), patches.end(), 0.0f);
      add_product({pixels, width, out, false, false, s.co, width, width}, y, weight, patches.data());
      return add_patches(s, b, patches, o.x);
    case ConvolutionPass::kBackwardWeight:
      load_patches(s, b, o.x, patches);
      return add_product({out, width, pixels, true, false, s.co, width, width}, y, patches.data(), weight);
  }
}

}  // namespace

void convolve(ConvolutionPass pass, const ConvolutionShape& s, Number number, bool tf32,
              const ConvolutionArrays& arrays, float alpha, float beta) {
  // The result starts from zero; what it held is not read here.
  const auto load = [&](const void* data, size_t count, ConvolutionPass writer) {
    return pass == writer ? std::vector<float>(count, 0.0f) : read_numbers(data, count, number, tf32);
  };
  Operands o{load(arrays.x, s.x_count(), ConvolutionPass::kBackwardData),
             load(arrays.weight, s.weight_count(), ConvolutionPass::kBackwardWeight),
             load(arrays.y, s.y_count(), ConvolutionPass::kForward)};
  const int64_t width = static_cast<int64_t>(s.ci / s.groups) * s.kh * s.kw;
  const int64_t rows = std::clamp<int64_t>(kPatchFloats / (width * s.ow), 1, s.oh);
  std::vector<float> patches;
  for (int64_t n = 0; n < s.n; ++n) {
    for (int64_t group = 0; group < s.groups; ++group) {
      for (int64_t begin = 0; begin < s.oh; begin += rows) {
        run_block(pass, s, {n, begin, std::min<int64_t>(begin + rows, s.oh), group}, o, patches);
      }
    }
  }
  const auto write = [&](const std::vector<float>& values, const void* target) {
    write_numbers(values, const_cast<void*>(target), number, alpha, beta);
  };
  if (pass == ConvolutionPass::kForward) write(o.y, arrays.y);
  if (pass == ConvolutionPass::kBackwardData) write(o.x, arrays.x);
  if (pass == ConvolutionPass::kBackwardWeight) write(o.weight, arrays.weight);
}

}  // namespace osprey::emulator
