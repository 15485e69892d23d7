#pragma once

#include <cstddef>

// Memory of CPU tensors. Large blocks are kept when they are released and handed out again: a training step
// asks for the same sizes over and over, and touching fresh pages costs more than the arithmetic of an
// elementwise op. Thread-safe.
namespace osprey {

// 64-byte aligned, uninitialised. Throws Error when the machine has no more memory.
void* allocate_cpu_memory(size_t bytes);
// `bytes` as given to allocate_cpu_memory.
void release_cpu_memory(void* data, size_t bytes);

// Bytes that are kept for reuse and not in use.
size_t cached_cpu_memory();

}  // namespace osprey
