#include "models/roi_heads/roi_extractors/roi_extractor.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(RoIExtractor, "roi extractor");

}  // namespace osprey
