#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "core/data/batch_source.h"
#include "core/data/dataset.h"
#include "core/data/group_sampler.h"
#include "core/data/prefetcher.h"

namespace osprey {

class SampleError;

// What to do with an image that cannot be loaded or has a senseless annotation (SampleError).
enum class OnError {
  kRaise,  // stop; the message begins with the file
  kSkip,   // warn once per file and take another image of the same aspect group
};

struct LoaderOptions {
  int64_t samples_per_gpu = 1;
  int workers_per_gpu = 2;  // threads; 0 loads in the thread that calls next()
  uint64_t seed = 0;
  OnError on_error = OnError::kRaise;
  int64_t rank = 0, world_size = 1;
};

// Reads samples_per_gpu, workers_per_gpu and on_error of the config's `data` section.
LoaderOptions read_loader_options(const ConfigNode& data);

// Training batches: GroupSampler's order, loaded ahead by worker threads. The content of a batch depends on
// (seed, epoch, batch) alone. An exception of a worker surfaces in the next() that would have given its
// batch.
class DataLoader final : public BatchSource {
 public:
  DataLoader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options);

  int64_t batches_per_epoch() const override { return sampler_.batches_per_epoch(); }
  void begin_epoch(int64_t epoch, int64_t first_batch) override;
  bool next(Batch& batch) override { return prefetcher_.next(batch); }

 private:
  // The batches of one epoch. Workers that still load for an epoch that was given up keep theirs.
  struct Epoch {
    int64_t number;
    std::vector<BatchIndices> batches;
  };
  std::shared_ptr<const Epoch> current_epoch() const;
  Batch load(int64_t index) const;
  Sample load_sample(int64_t epoch, int64_t index) const;
  // The one sample of image `index`, or none when it is rejected or, under kSkip, cannot be used.
  std::optional<Sample> try_sample(int64_t epoch, int64_t index) const;
  void warn_once(const SampleError& error) const;

  std::shared_ptr<const Dataset> dataset_;
  LoaderOptions options_;
  GroupSampler sampler_;
  mutable std::mutex mutex_;  // guards the next two
  std::shared_ptr<const Epoch> epoch_;
  mutable std::set<std::string> warned_files_;
  Prefetcher<Batch> prefetcher_;  // last: its workers use everything above, and end first
};

}  // namespace osprey
