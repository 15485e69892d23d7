#include "tools/resnet50_convs.h"

namespace osprey {

std::vector<ConvLayer> resnet50_convs(int64_t n, int64_t h, int64_t w) {
  std::vector<ConvLayer> layers{{n, h, w, 3, 64, 7, 2}};
  h = (h + 3) / 4;  // the stem's stride and the max pooling
  w = (w + 3) / 4;
  int64_t channels = 64;
  const int64_t blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t width = 64 << stage;
    for (int64_t block = 0; block < blocks[stage]; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      const ConvLayer conv2{n, h, w, width, width, 3, stride};
      layers.push_back({n, h, w, channels, width, 1, 1});
      layers.push_back(conv2);
      layers.push_back({n, conv2.out_h(), conv2.out_w(), width, 4 * width, 1, 1});
      if (block == 0) layers.push_back({n, h, w, channels, 4 * width, 1, stride});
      h = conv2.out_h();
      w = conv2.out_w();
      channels = 4 * width;
    }
  }
  return layers;
}

}  // namespace osprey
