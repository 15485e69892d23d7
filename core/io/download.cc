#include "core/io/download.h"

#include <curl/curl.h>

#include <memory>
#include <regex>

#include "core/base/error.h"
#include "core/io/atomic_file.h"
#include "core/io/sha256.h"

namespace osprey {
namespace {

struct Sink {
  AtomicFile file;
  Sha256 hash;
  std::string failure;
};

size_t receive(const char* data, size_t size, size_t count, void* sink) {
  auto& to = *static_cast<Sink*>(sink);
  try {
    to.file.write(data, size * count);
    to.hash.update(data, size * count);
  } catch (const std::exception& error) {  // must not cross the C library
    to.failure = error.what();
    return 0;
  }
  return size * count;
}

// "" when the name promises nothing.
std::string promised_hash(const std::string& url) {
  std::smatch match;
  static const std::regex pattern("-([0-9a-f]{8,64})\\.[A-Za-z.]+$");
  return std::regex_search(url, match, pattern) ? match[1].str() : "";
}

}  // namespace

std::string download(const std::string& url, const std::string& path) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  if (ready != CURLE_OK || !curl) return "libcurl cannot start";
  Sink sink{AtomicFile(path), {}, {}};
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, 10L);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_LIMIT, 1000L);  // bytes per second, ...
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_TIME, 30L);     // ... for as many seconds: give up
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, receive);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &sink);
  const CURLcode code = curl_easy_perform(curl.get());
  if (!sink.failure.empty()) return sink.failure;
  if (code != CURLE_OK) return curl_easy_strerror(code);
  const std::string promised = promised_hash(url), found = sink.hash.hex();
  if (found.compare(0, promised.size(), promised) != 0) {
    return str_cat("checksum mismatch: SHA-256 ", found.substr(0, 16), "..., its name promises ", promised);
  }
  sink.file.commit();
  return "";
}

}  // namespace osprey
