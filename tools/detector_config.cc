#include "tools/detector_config.h"

namespace osprey {

ConfigNode detector_config(const ConfigNode& root) {
  ConfigNode model = root["model"];
  for (const char* key : {"train_cfg", "test_cfg"}) {
    const ConfigNode outside = root.find(key);
    if (outside.is_null()) continue;
    if (!model.find(key).is_null()) outside.fail(str_cat(key, " is given in model, too"));
    model = model.with(key, outside);
  }
  return model;
}

ConfigNode without_pretrained(const ConfigNode& model) {
  model.find("pretrained");  // read, whatever it says
  return model.with("pretrained", std::string());
}

}  // namespace osprey
