#pragma once

#include "core/backend/cuda/runtime.h"
#include "core/backend/device_backend.h"

namespace osprey {

// Copies through pinned staging on the device's upload stream. The memory belongs to that stream: the pool
// orders its reuse after the work that the releasing thread has queued by then.
class CudaUploader final : public Uploader {
 public:
  explicit CudaUploader(Device device);

  Upload start(const Tensor& host) override;
  Tensor finish(Upload upload) override;

  const CudaStream& stream() const { return stream_; }

 private:
  const CudaStream& stream_;
};

}  // namespace osprey
