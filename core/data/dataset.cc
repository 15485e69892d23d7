#include "core/data/dataset.h"

#include "core/data/concat_dataset.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(Dataset, "dataset");

std::unique_ptr<Dataset> build_dataset(const ConfigNode& cfg) {
  if (cfg.is_list() || cfg.find("ann_file").is_list()) return ConcatDataset::of(cfg, /*test_mode=*/false);
  return build<Dataset>(cfg);
}

std::unique_ptr<Dataset> build_test_dataset(const ConfigNode& cfg) {
  if (cfg.is_list()) return ConcatDataset::of(cfg, /*test_mode=*/true);
  return build_dataset(cfg.with("test_mode", true));
}

}  // namespace osprey
