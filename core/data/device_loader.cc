#include "core/data/device_loader.h"

namespace osprey {

DeviceLoader::DeviceLoader(std::unique_ptr<BatchSource> source, std::unique_ptr<Uploader> uploader)
    : source_(std::move(source)), uploader_(std::move(uploader)) {}

DeviceLoader::~DeviceLoader() { stop(); }

// A thread for each epoch: when it has ended nobody else uses the source.
void DeviceLoader::begin_epoch(int64_t epoch, int64_t first_batch) {
  stop();
  source_->begin_epoch(epoch, first_batch);
  stopping_ = false;
  slot_ = Slot();
  thread_ = std::thread([this] { fill_slots(); });
}

void DeviceLoader::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();  // at most one batch is still being loaded
}

bool DeviceLoader::next(Batch& batch) {
  batch = Batch();  // its memory is free for the batch after the one that is handed out
  std::unique_lock lock(mutex_);
  OSPREY_REQUIRE(thread_.joinable(), "DeviceLoader: next() before begin_epoch()");
  changed_.wait(lock, [this] { return slot_.filled; });
  if (slot_.last) return false;
  Slot slot = std::move(slot_);
  slot_ = Slot();
  lock.unlock();
  changed_.notify_all();
  if (slot.failure) std::rethrow_exception(slot.failure);
  batch = std::move(slot.batch);
  if (slot.images.tensor.defined()) batch.img = uploader_->finish(std::move(slot.images));
  return true;
}

void DeviceLoader::fill_slots() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    Slot made = make_slot();
    lock.lock();
    if (stopping_) return;
    slot_ = std::move(made);
    changed_.notify_all();
    if (slot_.last) return;
    changed_.wait(lock, [this] { return stopping_ || !slot_.filled; });
  }
}

DeviceLoader::Slot DeviceLoader::make_slot() {
  Slot slot;
  slot.filled = true;
  try {
    slot.last = !source_->next(slot.batch);
    if (slot.batch.img.defined()) {
      slot.images = uploader_->start(slot.batch.img);
      slot.batch.img = Tensor();
    }
  } catch (...) {
    slot.failure = std::current_exception();
  }
  return slot;
}

}  // namespace osprey
