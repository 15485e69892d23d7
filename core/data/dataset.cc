#include "core/data/dataset.h"

#include "core/data/concat_dataset.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(Dataset, "dataset");

std::unique_ptr<Dataset> build_dataset(const ConfigNode& cfg) {
  if (cfg.is_list() || cfg.find("ann_file").is_list()) return ConcatDataset::of(cfg);
  return build<Dataset>(cfg);
}

}  // namespace osprey
