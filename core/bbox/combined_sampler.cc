#include "core/bbox/combined_sampler.h"

namespace osprey {

namespace {

std::unique_ptr<BaseSampler> build_part(const ConfigNode& cfg, const char* key) {
  ConfigNode part = cfg[key];
  for (const char* common : {"num", "pos_fraction", "neg_pos_ub", "add_gt_as_proposals"}) {
    if (!part.has(common) && cfg.has(common)) part = part.with(common, cfg[common]);
  }
  std::unique_ptr<BBoxSampler> built = build<BBoxSampler>(part);
  if (part.get<std::string>("type") == "RandomSampler") return nullptr;
  if (dynamic_cast<CombinedSampler*>(built.get()) == nullptr) {
    if (auto* sampler = dynamic_cast<BaseSampler*>(built.get())) {
      built.release();
      return std::unique_ptr<BaseSampler>(sampler);
    }
  }
  part["type"].fail("cannot be a part of CombinedSampler: it does not choose positives and negatives apart");
}

}  // namespace

CombinedSampler::CombinedSampler(const ConfigNode& cfg)
    : BaseSampler(cfg),
      pos_sampler_(build_part(cfg, "pos_sampler")),
      neg_sampler_(build_part(cfg, "neg_sampler")) {}

std::vector<int64_t> CombinedSampler::sample_pos(const Draw& draw, std::vector<int64_t> positives,
                                                 int64_t count) const {
  return pos_sampler_ ? pos_sampler_->sample_pos(draw, std::move(positives), count)
                      : BaseSampler::sample_pos(draw, std::move(positives), count);
}

std::vector<int64_t> CombinedSampler::sample_neg(const Draw& draw, std::vector<int64_t> negatives,
                                                 int64_t count) const {
  return neg_sampler_ ? neg_sampler_->sample_neg(draw, std::move(negatives), count)
                      : BaseSampler::sample_neg(draw, std::move(negatives), count);
}

OSPREY_REGISTER(BBoxSampler, CombinedSampler);

}  // namespace osprey
