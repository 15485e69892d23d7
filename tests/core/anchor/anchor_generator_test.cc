#include "core/anchor/anchor_generator.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;

AnchorGenerator generator_of(nlohmann::json params) {
  for (const char* other : {"featmap_sizes", "pad_shape", "img_shape", "note"}) params.erase(other);
  return AnchorGenerator(parse_config(params.dump()));
}

MapSize size_of(const nlohmann::json& pair) { return {pair[0].get<int64_t>(), pair[1].get<int64_t>()}; }

TEST(AnchorGenerator, AgreesWithReference) {
  const Golden golden = Golden::open("ops/anchors");
  for (const std::string& name : golden.cases()) {
    const nlohmann::json& params = golden.json()["cases"][name]["params"];
    const AnchorGenerator generator = generator_of(params);
    std::vector<MapSize> maps;
    for (const auto& pair : params["featmap_sizes"]) maps.push_back(size_of(pair));
    const Tensors grids = generator.grid_anchors(maps);
    const Tensors flags = generator.valid_flags(maps, size_of(params["pad_shape"]));
    for (size_t l = 0; l < maps.size(); ++l) {
      const std::string level = std::to_string(l);
      SCOPED_TRACE(name + ", level " + level);
      EXPECT_TENSOR_NEAR(generator.base_anchors()[l], golden.tensor(name + "/base_anchors" + level), 1e-6,
                         2e-7);
      EXPECT_TENSOR_NEAR(grids[l], golden.tensor(name + "/grid_anchors" + level), 1e-6, 2e-7);
      EXPECT_TENSOR_EQ(flags[l], golden.tensor(name + "/valid_flags" + level));
      int borders = 0;  // "inside_flags_16_0": allowed_border 16, level 0; "m1" is -1
      for (const std::string& tensor : golden.names(name + "/inside_flags_")) {
        std::string border = tensor.substr(name.size() + 14);
        const size_t split = border.find('_');
        if (border.substr(split + 1) != level) continue;
        border = border.substr(0, split);
        if (border[0] == 'm') border[0] = '-';
        const Tensor inside =
            anchor_inside_flags(grids[l], flags[l], size_of(params["img_shape"]), std::stoi(border));
        EXPECT_TENSOR_EQ(inside, golden.tensor(tensor));
        ++borders;
      }
      EXPECT_GT(borders, 0);
    }
  }
}

TEST(AnchorGenerator, NamesWhatIsMissing) {
  EXPECT_THROW(AnchorGenerator(parse_config("{strides: [4], ratios: [1.0]}")), UserError);
  EXPECT_THROW(AnchorGenerator(parse_config("{strides: [], ratios: [1.0], scales: [8]}")), UserError);
  EXPECT_THROW(
      AnchorGenerator(parse_config("{strides: [4, 8], ratios: [1.0], scales: [8], base_sizes: [4]}")),
      UserError);
  const AnchorGenerator two(parse_config("{strides: [4, 8], ratios: [1.0], scales: [8]}"));
  EXPECT_THROW(two.grid_anchors({{4, 4}}), Error);
}

TEST(AnchorGenerator, IsRegistered) {
  EXPECT_EQ(build<AnchorGeneratorBase>(
                parse_config("{type: AnchorGenerator, strides: [4, 8], ratios: [0.5, 1, 2], scales: [8]}"))
                ->num_base_anchors(1),
            3);
}

}  // namespace
}  // namespace osprey
