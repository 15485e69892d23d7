#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "core/backend/device_backend.h"
#include "core/data/batch_source.h"

namespace osprey {

// Another source's batches with their images on a device: while one is worked on, a thread of its own takes
// the next from the source and uploads it beside the device's work. What it hands out is what the source
// would have; a failure of the source surfaces in the next() that would have given its batch.
class DeviceLoader final : public BatchSource {
 public:
  DeviceLoader(std::unique_ptr<BatchSource> source, std::unique_ptr<Uploader> uploader);
  ~DeviceLoader() override;

  int64_t batches_per_epoch() const override { return source_->batches_per_epoch(); }
  void begin_epoch(int64_t epoch, int64_t first_batch) override;
  // The consumer's thread queues all work on the batch, and lets go of it.
  bool next(Batch& batch) override;

 private:
  // What the thread has ready: a batch on its way to the device, the end of the epoch, or a failure.
  struct Slot {
    bool filled = false, last = false;
    Batch batch;  // without its images
    Uploader::Upload images;
    std::exception_ptr failure;
  };

  void stop();
  void fill_slots();  // the thread's whole life: one epoch
  Slot make_slot();

  std::unique_ptr<BatchSource> source_;
  std::unique_ptr<Uploader> uploader_;
  std::thread thread_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  Slot slot_;
  bool stopping_ = false;
};

}  // namespace osprey
