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

ConfigNode without_pretrained(const ConfigNode& given) {
  const auto emptied = [](const ConfigNode& cfg) {
    cfg.find("pretrained");  // read, whatever it says
    return cfg.with("pretrained", std::string());
  };
  ConfigNode model = emptied(given);
  const ConfigNode init_cfg = given.find("init_cfg");
  init_cfg.mark_read();
  if (!init_cfg.is_null()) model = model.without("init_cfg");
  const ConfigNode neck = given.find("neck");
  if (!neck.is_map() || neck.find("rfp_backbone").is_null()) return model;
  return model.with("neck", neck.with("rfp_backbone", emptied(neck["rfp_backbone"])));
}

}  // namespace osprey
