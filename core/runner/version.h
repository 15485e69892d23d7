#pragma once

namespace osprey {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace osprey
