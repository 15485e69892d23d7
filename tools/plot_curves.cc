#include "tools/plot_curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <opencv2/imgproc.hpp>

#include "core/base/error.h"

namespace osprey {
namespace {

constexpr int kWidth = 1200, kHeight = 700;
constexpr int kLeft = 90, kRight = 30, kTop = 50, kBottom = 50;  // around the plot
constexpr double kFontScale = 0.5;

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

// A step of 1, 2 or 5 times a power of ten that divides the range into about six.
double tick_step(const Range& range) {
  const double rough = (range.high - range.low) / 6, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power) return factor * power;
  }
  return 10 * power;
}

cv::Scalar colour_of(size_t index) {
  const cv::Mat hsv(1, 1, CV_8UC3, cv::Scalar(static_cast<double>(index * 68 % 180), 230, 200));
  cv::Mat bgr;
  cv::cvtColor(hsv, bgr, cv::COLOR_HSV2BGR);
  return bgr.at<cv::Vec3b>(0, 0);
}

class Plot {
 public:
  explicit Plot(const std::vector<Curve>& curves) : image_(kHeight, kWidth, CV_8UC3, cv::Scalar::all(255)) {
    for (const Curve& curve : curves) {
      for (size_t i = 0; i < curve.x.size(); ++i) {
        if (!std::isfinite(curve.y[i])) continue;
        x_.include(curve.x[i]);
        y_.include(curve.y[i]);
      }
    }
    OSPREY_REQUIRE(std::isfinite(x_.low), "plot_curves: no finite value");
    for (Range* range : {&x_, &y_}) {
      if (range->high > range->low) continue;
      range->low -= 0.5;
      range->high += 0.5;
    }
  }

  void axes(const std::string& title) {
    const cv::Scalar grey = cv::Scalar::all(220), black = cv::Scalar::all(0);
    for (double x = tick_step(x_) * std::ceil(x_.low / tick_step(x_)); x <= x_.high; x += tick_step(x_)) {
      cv::line(image_, at(x, y_.low), at(x, y_.high), grey);
      text(str_cat(x), at(x, y_.low) + cv::Point(-10, 20), black);
    }
    for (double y = tick_step(y_) * std::ceil(y_.low / tick_step(y_)); y <= y_.high; y += tick_step(y_)) {
      cv::line(image_, at(x_.low, y), at(x_.high, y), grey);
      // Rounding leaves 1e-17 where 0 is meant.
      text(str_cat(std::abs(y) < tick_step(y_) / 2 ? 0 : y), at(x_.low, y) + cv::Point(-70, 5), black);
    }
    cv::rectangle(image_, at(x_.low, y_.high), at(x_.high, y_.low), black);
    text(title, {kLeft, kTop - 20}, black);
  }

  void curve(const Curve& curve, size_t index) {
    const cv::Scalar colour = colour_of(index);
    for (size_t i = 0; i < curve.x.size(); ++i) {
      if (!std::isfinite(curve.y[i])) continue;
      const cv::Point here = at(curve.x[i], curve.y[i]);
      if (i > 0 && std::isfinite(curve.y[i - 1])) {
        cv::line(image_, at(curve.x[i - 1], curve.y[i - 1]), here, colour, 2, cv::LINE_AA);
      }
      cv::circle(image_, here, 2, colour, cv::FILLED, cv::LINE_AA);
    }
    const cv::Size size = cv::getTextSize(curve.label, cv::FONT_HERSHEY_SIMPLEX, kFontScale, 1, nullptr);
    text(curve.label, {kWidth - kRight - size.width - 10, kTop + 20 * static_cast<int>(index + 1)}, colour);
  }

  cv::Mat image() const { return image_; }

 private:
  cv::Point at(double x, double y) const {
    return {cvRound(kLeft + (x - x_.low) / (x_.high - x_.low) * (kWidth - kLeft - kRight)),
            cvRound(kHeight - kBottom - (y - y_.low) / (y_.high - y_.low) * (kHeight - kTop - kBottom))};
  }
  void text(const std::string& text, cv::Point left, const cv::Scalar& colour) {
    cv::putText(image_, text, left, cv::FONT_HERSHEY_SIMPLEX, kFontScale, colour, 1, cv::LINE_AA);
  }

  cv::Mat image_;
  Range x_, y_;
};

}  // namespace

cv::Mat plot_curves(const std::vector<Curve>& curves, const std::string& title) {
  Plot plot(curves);
  plot.axes(title);
  for (size_t i = 0; i < curves.size(); ++i) plot.curve(curves[i], i);
  return plot.image();
}

}  // namespace osprey
