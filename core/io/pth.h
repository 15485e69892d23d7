#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/io/pickle.h"

namespace osprey {

// A file that torch.save wrote: the zip format (PyTorch 1.6 and later) or the stream of pickles before it.
struct PthFile {
  std::shared_ptr<PickleArena> arena;  // owns every object
  const PickleObject* root = nullptr;
};

// True when the file begins like one of the two formats.
bool is_pth(const std::string& path);

// Reads everything, natively: no Python, and nothing in the file is executed. Tensors come to the CPU, dense
// and in PyTorch's layout, whatever device, view or stride they had; int8 and int16 become i32. Throws
// UserError, naming the file, for anything malformed or hostile: truncated, damaged (CRC), foreign classes,
// views outside their storage, sizes that the file could not hold.
PthFile read_pth(const std::string& path);
// Everything but the tensors, whose data stays unread: of the zip format that is a small part of the file.
PthFile read_pth_objects(const std::string& path);

// The weights of a checkpoint, in order: its `state_dict`, or the file's own dict when it has none
// (torchvision), a leading "module." of each name removed (DataParallel), as mmcv loads them. Throws
// UserError when there is no dict with tensors.
std::vector<std::pair<std::string, Tensor>> pth_state_dict(const PthFile& file, const std::string& path);

// Writes what torch.load reads, in its zip format, whole or not at all. Tensors that share a storage still
// share it in the file. Requires CPU tensors; `root` may hold what pickle_writer.h can write.
void write_pth(const std::string& path, const PickleObject& root);

}  // namespace osprey
