#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

#include "core/base/strings.h"
#include "tests/cuda_emulator/arena.h"
#include "tests/cuda_emulator/emulator.h"
#include "tests/cuda_emulator/fail.h"
#include "tests/cuda_emulator/runtime_state.h"

// The calls of the CUDA runtime that Osprey makes: here devices and errors, in stream_double.cc streams and
// events, in memory_double.cc memory and copies. Misuse for which the documentation names a status gets that
// status; what it calls undefined fails.
namespace osprey::emulator {
namespace {

thread_local int device_of_thread = 0;
thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

cudaError_t report(cudaError_t status) {
  if (machine().broken != cudaSuccess) return machine().broken;
  if (status != cudaSuccess) last_error = status;
  return status;
}

bool valid_device(int device) { return device >= 0 && device < machine().devices; }

int current_device() { return device_of_thread; }

}  // namespace osprey::emulator

using namespace osprey::emulator;
using osprey::str_cat;

#define LOCK const std::lock_guard lock(driver_mutex())

cudaError_t cudaDriverGetVersion(int* version) {
  *version = machine().driver_version;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (machine().driver_version < CUDART_VERSION) return report(cudaErrorInsufficientDriver);
  *count = machine().devices;
  return report(machine().devices > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device) {
  if (!valid_device(device)) return report(cudaErrorInvalidDevice);
  device_of_thread = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = device_of_thread;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (!valid_device(device)) return report(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = machine().capability_major;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = machine().capability_minor;
      return cudaSuccess;
    case cudaDevAttrMemoryPoolsSupported:
      *value = machine().memory_pools;
      return cudaSuccess;
    default:
      fail(str_cat("cudaDeviceGetAttribute: the double does not know attribute ",
                   static_cast<int>(attribute)));
  }
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!valid_device(device)) return report(cudaErrorInvalidDevice);
  std::memset(properties, 0, sizeof *properties);
  std::strcpy(properties->name, "Emulated GPU");
  properties->totalGlobalMem = machine().memory_bytes;
  properties->major = machine().capability_major;
  properties->minor = machine().capability_minor;
  properties->multiProcessorCount = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int length, int device) {
  if (!valid_device(device)) return report(cudaErrorInvalidDevice);
  if (bus_id == nullptr || length < 13) return report(cudaErrorInvalidValue);
  std::snprintf(bus_id, static_cast<size_t>(length), "0000:%02x:00.0", static_cast<unsigned>(device) & 0xFF);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  LOCK;
  *total = machine().memory_bytes;
  const size_t used = Arena::get().used_bytes(device_of_thread);
  *free = used < *total ? *total - used : 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  LOCK;
  ++counts().waits;
  streams().for_each([](Stream& stream) {
    if (stream.device == device_of_thread) drain(stream);
  });
  return report(cudaSuccess);
}

cudaError_t cudaGetLastError() {
  if (machine().broken != cudaSuccess) return machine().broken;
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case cudaErrorInvalidMemcpyDirection:
      return "cudaErrorInvalidMemcpyDirection";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    default:
      return "an error the double does not name";
  }
}

const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }
