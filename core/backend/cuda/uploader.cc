#include "core/backend/cuda/uploader.h"

#include <map>
#include <mutex>

namespace osprey {
namespace {

// One for each device. Never destroyed: uploaded tensors, whose memory belongs to it, may outlive any
// uploader.
const CudaStream& upload_stream(Device device) {
  static std::mutex& mutex = *new std::mutex;
  static auto& streams = *new std::map<int, std::unique_ptr<const CudaStream>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<const CudaStream>& stream = streams[device.index];
  if (!stream) stream = std::make_unique<const CudaStream>(device);
  return *stream;
}

}  // namespace

CudaUploader::CudaUploader(Device device) : stream_(upload_stream(device)) {}

Uploader::Upload CudaUploader::start(const Tensor& host) {
  const StreamGuard guard(stream_);
  Upload upload;
  upload.tensor = host.to(stream_.device());
  const auto arrival = std::make_shared<CudaEvent>(stream_.device());
  arrival->record(stream_.get());
  upload.arrival = arrival;
  return upload;
}

Tensor CudaUploader::finish(Upload upload) {
  static_cast<const CudaEvent*>(upload.arrival.get())->block(current_stream(stream_.device()));
  return std::move(upload.tensor);
}

}  // namespace osprey
