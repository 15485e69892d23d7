#pragma once

#include <string>
#include <vector>

namespace osprey {

// Names of a state dict for people: all of them while there are at most `limit`, else those with a common
// prefix together: "backbone.layer1.* (54 keys), neck.fpn_convs.* (8 keys), rpn_head.rpn_cls.bias". Prefixes
// end at dots and are as long as the limit allows, the fullest group being opened first.
std::string fold_names(const std::vector<std::string>& names, size_t limit = 12);

}  // namespace osprey
