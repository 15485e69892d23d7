#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor/tensor.h"

// The safetensors format (github.com/huggingface/safetensors, README "Format"): u64 length of the header, a
// JSON header name -> {dtype, shape, data_offsets}, raw row-major data, all little endian.
namespace osprey {

struct Safetensors {
  std::vector<std::pair<std::string, Tensor>> tensors;  // in the order of the header
  std::map<std::string, std::string> metadata;          // the header's `__metadata__`
};

// Reads every tensor to the CPU. Dtypes: F64 F32 F16 BF16 I64 I32 U8 BOOL. Throws UserError "FILE: not a
// valid safetensors file: REASON" for anything that the format does not allow (truncated data, offsets that
// overlap, leave a gap or pass the end, a byte count that contradicts the shape, duplicate names, bad JSON).
// Memory use is bounded by the size of the file.
Safetensors read_safetensors(const std::string& path);

// The `__metadata__` alone, without reading the data.
std::map<std::string, std::string> read_safetensors_metadata(const std::string& path);

// Writes whole or not at all (AtomicFile). Requires distinct names and defined tensors; any device.
void write_safetensors(const std::string& path, const Safetensors& content);

}  // namespace osprey
