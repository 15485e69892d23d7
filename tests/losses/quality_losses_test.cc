#include <cmath>

#include "core/autograd/gradcheck.h"
#include "losses/quality_focal_loss.h"
#include "tests/devices.h"
#include "tests/losses/loss_golden.h"

// QualityFocalLoss, DistributionFocalLoss, VarifocalLoss, GaussianFocalLoss against their formulas.
namespace osprey {
namespace {

using testing::loss_of;
using testing::uniform;

double bce(double x, double t) { return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0) - x * t; }
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

// The unreduced loss of (n, c) predictions, summed row by row in f64.
std::vector<double> rows_of(const Tensor& pred, const Tensor& target, double (*formula)(double, double)) {
  const std::vector<double> x = pred.to_doubles(), t = target.to_doubles();
  std::vector<double> rows(static_cast<size_t>(pred.dim(0)), 0);
  for (size_t i = 0; i < x.size(); ++i) rows[i / (x.size() / rows.size())] += formula(x[i], t[i]);
  return rows;
}

void expect_rows(const std::string& keys, const Tensor& pred, const Tensor& target,
                 const std::vector<double>& expected) {
  for (const Device device : testing::devices_in_build()) {
    const auto loss = loss_of(keys + ", reduction: none");
    const Tensor value = (*loss)(Variable(pred.to(device)), target.to(device)).value().to(kCPU);
    const int64_t rows = pred.dim(0), columns = value.numel() / rows;
    std::vector<double> sums(static_cast<size_t>(rows), 0);
    for (int64_t i = 0; i < value.numel(); ++i) sums[i / columns] += value.data<float>()[i];
    for (size_t i = 0; i < sums.size(); ++i)
      EXPECT_NEAR(sums[i], expected[i], 2e-6 * (1 + expected[i])) << keys;
  }
}

const Tensor kPred = uniform({6, 3}, -4, 4, 1);

TEST(QualityFocalLoss, IsItsFormula) {
  const Tensor labels = Tensor::from<int64_t>({0, 1, 2, 3, 1, 3}, {6});  // 3 is background
  const Tensor scores = Tensor::from<float>({0.3f, 1, 0.7f, 0.5f, 0, 0}, {6});
  const Tensor target = quality_targets(labels, scores, 3);
  EXPECT_EQ(target[2].to_vector<float>(), (std::vector<float>{0, 0, 0.7f}));
  EXPECT_EQ(target[3].to_vector<float>(), (std::vector<float>{0, 0, 0}));
  expect_rows("type: QualityFocalLoss, beta: 2", kPred, target,
              rows_of(kPred, target, [](double x, double t) {
                return bce(x, t) * std::pow(std::abs(t - sigmoid_of(x)), 2);
              }));
  const auto loss = loss_of("type: QualityFocalLoss, reduction: none");
  EXPECT_EQ((*loss)(kPred, target).shape(), (Shape{6}));
  EXPECT_TENSOR_EQ((*loss)(kPred, labels).value(),
                   (*loss)(kPred, quality_targets(labels, Tensor::full({6}, 1, DType::kF32), 3)).value());
}

TEST(VarifocalLoss, IsItsFormula) {
  Tensor target = uniform({6, 3}, -1, 1, 2);
  for (int64_t i = 0; i < target.numel(); ++i) {
    float& t = target.mutable_data<float>()[i];
    t = t < 0 ? 0 : t;
  }
  expect_rows("type: VarifocalLoss, alpha: 0.6, gamma: 1.5", kPred, target,
              rows_of(kPred, target, [](double x, double t) {
                return bce(x, t) * (t > 0 ? t : 0.6 * std::pow(sigmoid_of(x), 1.5));
              }));
  expect_rows("type: VarifocalLoss, alpha: 0.6, gamma: 1.5, iou_weighted: false", kPred, target,
              rows_of(kPred, target, [](double x, double t) {
                return bce(x, t) * (t > 0 ? 1 : 0.6 * std::pow(sigmoid_of(x), 1.5));
              }));
}

TEST(GaussianFocalLoss, IsItsFormula) {
  const Tensor pred = uniform({6, 3}, 0.02, 0.98, 3);
  Tensor target = uniform({6, 3}, 0, 1, 4);
  for (const int64_t object : {0, 7, 11}) target.mutable_data<float>()[object] = 1;
  expect_rows("type: GaussianFocalLoss", pred, target, rows_of(pred, target, [](double p, double t) {
                return t == 1 ? -std::log(p) * std::pow(1 - p, 2)
                              : -std::log(1 - p) * p * p * std::pow(1 - t, 4);
              }));
}

TEST(DistributionFocalLoss, IsTheCrossEntropyOfTheTwoNeighbours) {
  const Tensor pred = uniform({3, 5}, -3, 3, 5), target = Tensor::from<float>({0, 1.25f, 3.75f}, {3});
  std::vector<double> expected;
  for (int64_t i = 0; i < 3; ++i) {
    const std::vector<double> x = pred[i].to_doubles();
    double total = 0;
    for (const double logit : x) total += std::exp(logit);
    const double distance = target.to_doubles()[static_cast<size_t>(i)];
    const size_t left = static_cast<size_t>(distance);
    const double nearness = distance - std::floor(distance);
    expected.push_back(std::log(total) - (1 - nearness) * x[left] - nearness * x[left + 1]);
  }
  expect_rows("type: DistributionFocalLoss", pred, target, expected);
  EXPECT_THROW((*loss_of("type: DistributionFocalLoss"))(pred, Tensor::full({3}, 5, DType::kF32)), Error);
}

TEST(QualityLosses, GradientsMatchFiniteDifferences) {
  const Tensor x = uniform({4, 3}, -3, 3, 6).to(DType::kF64);
  const Tensor t = Tensor::from<double>({0, 0.3, 1, 0, 0, 0.8, 1, 0, 0.5, 0, 0, 0}, {4, 3});
  for (const std::string keys :
       {"type: QualityFocalLoss", "type: QualityFocalLoss, beta: 1", "type: VarifocalLoss",
        "type: VarifocalLoss, iou_weighted: false, gamma: 1"}) {
    SCOPED_TRACE(keys);
    const auto loss = loss_of(keys + ", reduction: none");
    EXPECT_GRADCHECK([&](const Variables& in) { return (*loss)(in[0], t); }, {x});
  }
  const auto gaussian = loss_of("type: GaussianFocalLoss, alpha: 1.5");
  EXPECT_GRADCHECK([&](const Variables& in) { return (*gaussian)(in[0], t); },
                   {uniform({4, 3}, 0.1, 0.9, 7).to(DType::kF64)});
  const auto distribution = loss_of("type: DistributionFocalLoss");
  const Tensor distances = Tensor::from<double>({0, 0.6, 1.5, 1.9}, {4});
  EXPECT_GRADCHECK([&](const Variables& in) { return (*distribution)(in[0], distances); }, {x});
}

TEST(QualityLosses, RefuseWhatHasNoMeaning) {
  for (const char* keys : {"type: QualityFocalLoss, use_sigmoid: false", "type: QualityFocalLoss, beta: -1",
                           "type: VarifocalLoss, use_sigmoid: false", "type: VarifocalLoss, alpha: -0.1",
                           "type: GaussianFocalLoss, alpha: 0.5"}) {
    EXPECT_THROW(loss_of(keys), UserError) << keys;
  }
}

}  // namespace
}  // namespace osprey
