#pragma once

#include <string>

namespace osprey {

// Fetches an http(s) URL into `path`, which appears whole or not at all. When the file name ends in
// "-<8 or more hex digits>.<extension>" (torch.hub's convention), the SHA-256 of the content must begin with
// them. Returns "" or, as one line, why there is no file.
std::string download(const std::string& url, const std::string& path);

}  // namespace osprey
