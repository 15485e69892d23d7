#include "core/data/data_loader.h"

#include <opencv2/core.hpp>

#include "core/base/logging.h"
#include "core/data/collate.h"
#include "core/data/sample.h"

namespace osprey {
namespace {

constexpr int64_t kMostSamples = 4096;  // a step of more images is a slip of the keyboard
constexpr int64_t kBatchesAhead = 2;    // per worker, as PyTorch's prefetch_factor
constexpr int kMostWorkers = 256;
constexpr int kReplacements = 100;  // of one sample, before the dataset is called unusable
constexpr uint64_t kReplacementStream = 0x5265706C616365, kModelStream = 0x4D6F64656C;

int64_t depth(const LoaderOptions& options) {
  return std::max<int64_t>(1, options.workers_per_gpu) * kBatchesAhead;
}

uint64_t next_u64(CounterRng& rng) {
  const uint64_t high = rng.next_u32();
  return high << 32 | rng.next_u32();
}

}  // namespace

LoaderOptions read_loader_options(const ConfigNode& data) {
  LoaderOptions options;
  options.samples_per_gpu = data.get("samples_per_gpu", int64_t{1}, between(1, kMostSamples));
  options.workers_per_gpu = data.get("workers_per_gpu", 2, between(0, kMostWorkers));
  options.on_error =
      data.choice("on_error", "raise", {"raise", "skip"}) == "raise" ? OnError::kRaise : OnError::kSkip;
  return options;
}

DataLoader::DataLoader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options)
    : dataset_(std::move(dataset)),
      options_(options),
      sampler_(*dataset_, {options.samples_per_gpu, options.seed, options.rank, options.world_size}),
      prefetcher_(options.workers_per_gpu, depth(options), [this](int64_t index) { return load(index); }) {
  cv::setNumThreads(0);  // OpenCV's own pool would compete with training
}

void DataLoader::begin_epoch(int64_t epoch, int64_t first_batch) {
  {
    const std::lock_guard lock(mutex_);
    epoch_ = std::make_shared<const Epoch>(Epoch{epoch, sampler_.epoch(epoch)});
  }
  prefetcher_.start(first_batch, batches_per_epoch());
}

std::shared_ptr<const DataLoader::Epoch> DataLoader::current_epoch() const {
  const std::lock_guard lock(mutex_);
  return epoch_;
}

Batch DataLoader::load(int64_t index) const {
  const std::shared_ptr<const Epoch> epoch = current_epoch();
  Samples samples;
  for (const int64_t image : epoch->batches[index]) samples.push_back(load_sample(epoch->number, image));
  Batch batch = collate(samples);
  const int64_t global_index = index + options_.rank * batches_per_epoch();
  CounterRng rng(options_.seed ^ kModelStream, epoch->number, global_index);
  batch.rng_seed = next_u64(rng);
  return batch;
}

Sample DataLoader::load_sample(int64_t epoch, int64_t index) const {
  if (std::optional<Sample> sample = try_sample(epoch, index)) return std::move(*sample);
  CounterRng rng(options_.seed ^ kReplacementStream, epoch, index);
  for (int i = 0; i < kReplacements; ++i) {
    int64_t other = rng.randint(dataset_->size());
    while (dataset_->group(other) != dataset_->group(index)) other = rng.randint(dataset_->size());
    if (std::optional<Sample> sample = try_sample(epoch, other)) return std::move(*sample);
  }
  throw UserError(str_cat("none of ", kReplacements, " images drawn in place of image ", index,
                          " can be used: the pipeline rejects them or they cannot be read"));
}

std::optional<Sample> DataLoader::try_sample(int64_t epoch, int64_t index) const {
  CounterRng rng(options_.seed, epoch, index);
  try {
    Samples samples = dataset_->get(index, rng);
    if (samples.empty()) return std::nullopt;
    if (samples.size() > 1)
      throw UserError("MultiScaleFlipAug belongs into a test pipeline, not into training");
    return std::move(samples[0]);
  } catch (const SampleError& error) {
    if (options_.on_error == OnError::kRaise) throw;
    warn_once(error);
    return std::nullopt;
  }
}

void DataLoader::warn_once(const SampleError& error) const {
  {
    const std::lock_guard lock(mutex_);
    if (!warned_files_.insert(error.filename()).second) return;
  }
  log_of_rank(LogLevel::kWarning,
              str_cat(error.what(), "; another image takes its place (data.on_error: skip)"));
}

}  // namespace osprey
