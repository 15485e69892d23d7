#pragma once

#include "core/nn/module.h"
#include "core/registry/registry.h"

namespace osprey {

// What a backbone's `plugins` puts behind one of a bottleneck's convolutions. Registered in models/plugins;
// its config has in_channels, which the block fills in.
class PluginLayer : public Module {
 public:
  // x (n, h, w, in_channels), same shape out.
  virtual Variable forward(const Variable& x) const = 0;
  // How its member is called: "context_block", before the config's postfix.
  virtual std::string abbreviation() const = 0;
};

OSPREY_DECLARE_REGISTRY(PluginLayer);

}  // namespace osprey
