#include "models/dense_heads/dense_head.h"

namespace osprey {
namespace {

[[noreturn]] void cannot(const DenseHead& head, const char* what) {
  throw UserError(str_cat(head.path(), ": this type of dense head does not ", what));
}

}  // namespace

Tensors DenseHead::simple_test_rpn(const Variables&, const std::vector<ImgMeta>&) const {
  cannot(*this, "propose regions");
}
Tensors DenseHead::aug_test_rpn(const std::vector<Variables>&,
                                const std::vector<std::vector<ImgMeta>>&) const {
  cannot(*this, "propose regions");
}
std::vector<DetectionResult> DenseHead::simple_test(const Variables&, const std::vector<ImgMeta>&,
                                                    bool) const {
  cannot(*this, "find objects");
}
std::vector<DetectionResult> DenseHead::aug_test(const std::vector<Variables>&,
                                                 const std::vector<std::vector<ImgMeta>>&, bool) const {
  cannot(*this, "find objects");
}

OSPREY_DEFINE_REGISTRY(DenseHead, "dense head");

}  // namespace osprey
