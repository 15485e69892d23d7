#include "core/data/concat_dataset.h"

#include <algorithm>

#include "core/data/sample.h"

namespace osprey {
namespace {

std::vector<std::unique_ptr<Dataset>> build_all(const ConfigNode& list, bool test_mode) {
  if (!list.is_list() || list.size() == 0) list.fail("must be a list of datasets");
  std::vector<std::unique_ptr<Dataset>> datasets;
  for (const ConfigNode& item : list.items())
    datasets.push_back(test_mode ? build_test_dataset(item) : build_dataset(item));
  return datasets;
}

// One dataset for each element of ann_file; img_prefix and seg_prefix may be lists of the same length.
std::vector<std::unique_ptr<Dataset>> build_for_each_file(const ConfigNode& cfg) {
  std::vector<std::unique_ptr<Dataset>> datasets;
  const size_t count = cfg["ann_file"].size();
  for (size_t i = 0; i < count; ++i) {
    ConfigNode one = cfg;
    for (const char* key : {"ann_file", "img_prefix", "seg_prefix"}) {
      const ConfigNode list = cfg.find(key);
      if (!list.is_list()) continue;
      if (list.size() != count) list.fail(str_cat("has ", list.size(), " elements, ann_file ", count));
      one = one.with(key, list.at(i));
    }
    datasets.push_back(build<Dataset>(one));
  }
  return datasets;
}

}  // namespace

ConcatDataset::ConcatDataset(const ConfigNode& cfg)
    : ConcatDataset(build_all(cfg["datasets"], cfg.get("test_mode", false))) {
  if (!cfg.get("separate_eval", true)) {
    cfg["separate_eval"].fail("COCO datasets are evaluated one by one: use true");
  }
}

ConcatDataset::ConcatDataset(std::vector<std::unique_ptr<Dataset>> datasets)
    : datasets_(std::move(datasets)), begins_{0} {
  for (const auto& dataset : datasets_) {
    begins_.push_back(begins_.back() + dataset->size());
    if (dataset->classes() != classes()) {
      throw UserError(str_cat("ConcatDataset: the datasets have different classes: ", join(classes()), "; ",
                              join(dataset->classes())));
    }
  }
}

std::unique_ptr<ConcatDataset> ConcatDataset::of(const ConfigNode& cfg, bool test_mode) {
  return std::make_unique<ConcatDataset>(cfg.is_list() ? build_all(cfg, test_mode)
                                                       : build_for_each_file(cfg));
}

std::pair<const Dataset*, int64_t> ConcatDataset::locate(int64_t index) const {
  OSPREY_REQUIRE(index >= 0 && index < size(), "ConcatDataset: no image ", index, " of ", size());
  const size_t d = std::upper_bound(begins_.begin(), begins_.end(), index) - begins_.begin() - 1;
  return {datasets_[d].get(), index - begins_[d]};
}

std::vector<Sample> ConcatDataset::get(int64_t index, CounterRng& rng) const {
  const auto [dataset, i] = locate(index);
  Samples samples = dataset->get(i, rng);
  for (Sample& sample : samples) sample.meta.dataset_index = index;
  return samples;
}

int ConcatDataset::group(int64_t index) const {
  const auto [dataset, i] = locate(index);
  return dataset->group(i);
}

std::vector<int64_t> ConcatDataset::labels(int64_t index) const {
  const auto [dataset, i] = locate(index);
  return dataset->labels(i);
}

std::vector<DetectionResult> ConcatDataset::results_of(size_t dataset,
                                                       const std::vector<DetectionResult>& results) const {
  OSPREY_REQUIRE(static_cast<int64_t>(results.size()) == size(), "evaluate: ", results.size(),
                 " results for ", size(), " images");
  return {results.begin() + begins_[dataset], results.begin() + begins_[dataset + 1]};
}

EvalReport ConcatDataset::evaluate(const std::vector<DetectionResult>& results,
                                   const EvalOptions& options) const {
  EvalReport total;
  for (size_t d = 0; d < datasets_.size(); ++d) {
    EvalOptions one = options;
    if (!one.jsonfile_prefix.empty()) one.jsonfile_prefix += str_cat(".", d);
    const EvalReport report = datasets_[d]->evaluate(results_of(d, results), one);
    for (const auto& [name, value] : report.metrics) total.metrics.emplace_back(str_cat(d, "_", name), value);
    for (const auto& [name, text] : report.texts) total.texts.emplace_back(str_cat(d, "_", name), text);
    total.table += str_cat("dataset ", d, "\n", report.table);
  }
  return total;
}

void ConcatDataset::format_results(const std::vector<DetectionResult>& results,
                                   const std::string& prefix) const {
  for (size_t d = 0; d < datasets_.size(); ++d) {
    datasets_[d]->format_results(results_of(d, results), str_cat(prefix, ".", d));
  }
}

OSPREY_REGISTER(Dataset, ConcatDataset);

}  // namespace osprey
