#include "core/runner/result_bytes.h"

#include <cstring>

namespace osprey {
namespace {

class Packer {
 public:
  template <typename T>
  void put(const T& value) {
    put_raw(&value, sizeof value);
  }
  void put_raw(const void* data, size_t bytes) { bytes_.append(static_cast<const char*>(data), bytes); }
  void put_text(const std::string& text) {
    put(text.size());
    bytes_ += text;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(const std::string& bytes) : bytes_(bytes) {}
  template <typename T>
  T get() {
    T value;
    get_raw(&value, sizeof value);
    return value;
  }
  void get_raw(void* target, size_t bytes) {
    OSPREY_ASSERT(place_ + bytes <= bytes_.size(), "a message of ", bytes_.size(), " bytes is too short");
    if (bytes > 0) std::memcpy(target, bytes_.data() + place_, bytes);
    place_ += bytes;
  }
  std::string get_text() {
    std::string text(get<size_t>(), '\0');
    get_raw(text.data(), text.size());
    return text;
  }

 private:
  const std::string& bytes_;
  size_t place_ = 0;
};

void put_tensor(Packer& out, const Tensor& tensor) {
  const Tensor host = tensor.to(kCPU);
  out.put_raw(host.raw(), host.bytes());
}

Tensor get_tensor(Unpacker& in, Shape shape, DType dtype) {
  Tensor tensor(std::move(shape), dtype);
  in.get_raw(tensor.mutable_raw(), tensor.bytes());
  return tensor;
}

void put_mask(Packer& out, const Rle& mask) {
  out.put(mask.h);
  out.put(mask.w);
  out.put(mask.counts.size());
  out.put_raw(mask.counts.data(), mask.counts.size() * sizeof(uint32_t));
}

Rle get_mask(Unpacker& in) {
  Rle mask;
  mask.h = in.get<int64_t>();
  mask.w = in.get<int64_t>();
  mask.counts.resize(in.get<size_t>());
  in.get_raw(mask.counts.data(), mask.counts.size() * sizeof(uint32_t));
  return mask;
}

void put_result(Packer& out, const DetectionResult& result) {
  const int64_t count = result.labels.numel();
  out.put(count);
  if (count > 0) {
    put_tensor(out, result.bboxes);
    put_tensor(out, result.scores);
    put_tensor(out, result.labels);
  }
  out.put(result.has_masks);
  out.put(result.masks.size());
  for (const Rle& mask : result.masks) put_mask(out, mask);
}

DetectionResult get_result(Unpacker& in) {
  DetectionResult result;
  const auto count = in.get<int64_t>();
  result.bboxes = count > 0 ? get_tensor(in, {count, 4}, DType::kF32) : Tensor({0, 4}, DType::kF32);
  result.scores = count > 0 ? get_tensor(in, {count}, DType::kF32) : Tensor({0}, DType::kF32);
  result.labels = count > 0 ? get_tensor(in, {count}, DType::kI64) : Tensor({0}, DType::kI64);
  result.has_masks = in.get<bool>();
  result.masks.resize(in.get<size_t>());
  for (Rle& mask : result.masks) mask = get_mask(in);
  return result;
}

}  // namespace

std::string pack(const std::vector<DetectionResult>& results) {
  Packer out;
  out.put(results.size());
  for (const DetectionResult& result : results) put_result(out, result);
  return out.take();
}

std::vector<DetectionResult> unpack_results(const std::string& bytes) {
  Unpacker in(bytes);
  std::vector<DetectionResult> results(in.get<size_t>());
  for (DetectionResult& result : results) result = get_result(in);
  return results;
}

std::string pack(const EvalReport& report) {
  Packer out;
  out.put(report.metrics.size());
  for (const auto& [name, value] : report.metrics) {
    out.put_text(name);
    out.put(value);
  }
  out.put(report.texts.size());
  for (const auto& [name, text] : report.texts) {
    out.put_text(name);
    out.put_text(text);
  }
  out.put_text(report.table);
  return out.take();
}

EvalReport unpack_report(const std::string& bytes) {
  Unpacker in(bytes);
  EvalReport report;
  report.metrics.resize(in.get<size_t>());
  for (auto& [name, value] : report.metrics) {
    name = in.get_text();
    value = in.get<double>();
  }
  report.texts.resize(in.get<size_t>());
  for (auto& [name, text] : report.texts) {
    name = in.get_text();
    text = in.get_text();
  }
  report.table = in.get_text();
  return report;
}

}  // namespace osprey
