#include "models/pretrained.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/io/safetensors.h"
#include "core/io/sha256.h"
#include "models/detectors/two_stage_detector.h"
#include "tests/models/model_golden.h"

namespace osprey::testing {
namespace {

namespace fs = std::filesystem;

std::string sha256(const std::string& text) {
  Sha256 hash;
  hash.update(text.data(), text.size());
  return hash.hex();
}

std::string error_of(const ConfigNode& name) {
  try {
    resolve_checkpoint(name);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

// Answers one request on a free port of this machine with `body`.
class OneShotServer {
 public:
  explicit OneShotServer(std::string body) : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, body = std::move(body)] {
      const int connection = accept(listener_, nullptr, nullptr);
      char request[4096];
      EXPECT_GT(read(connection, request, sizeof(request)), 0);
      const std::string answer =
          str_cat("HTTP/1.0 200 OK\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
      EXPECT_EQ(write(connection, answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
      close(connection);
    });
  }
  ~OneShotServer() {
    thread_.join();
    close(listener_);
  }
  std::string url(const std::string& file) const { return str_cat("http://127.0.0.1:", port_, "/", file); }

 private:
  int listener_, port_ = 0;
  std::thread thread_;
};

class PretrainedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    home_ = fs::path(::testing::TempDir()) / "osprey_home";
    fs::remove_all(home_);
    fs::create_directories(home_ / "checkpoints");
    setenv("OSPREY_HOME", home_.c_str(), 1);
    for (const char* proxy : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) unsetenv(proxy);
  }
  ConfigNode name(const std::string& text) {
    return parse_config("model: {pretrained: '" + text + "'}")["model"]["pretrained"];
  }

  fs::path home_;
};

TEST(Sha256Test, MatchesTheStandardsVectors) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_F(PretrainedTest, ALocalPathComesFirstThenTheFolder) {
  const std::string local = (home_ / "local.safetensors").string();
  std::ofstream(local) << "x";
  EXPECT_EQ(resolve_checkpoint(name(local)), local);
  const fs::path cached = home_ / "checkpoints" / "resnet50-0676ba61.pth";
  std::ofstream(cached) << "x";
  EXPECT_EQ(resolve_checkpoint(name("torchvision://resnet50")), cached.string());
}

TEST_F(PretrainedTest, DownloadsOnceAndChecksTheHash) {
  const std::string body = "weights";
  const std::string good = "net-" + sha256(body).substr(0, 8) + ".pth";
  std::string url;
  {
    const OneShotServer server(body);
    url = server.url(good);
    EXPECT_EQ(resolve_checkpoint(name(url)), (home_ / "checkpoints" / good).string());
  }
  EXPECT_EQ(resolve_checkpoint(name(url)),
            (home_ / "checkpoints" / good).string());  // nobody listens any more

  const OneShotServer server("something else");
  EXPECT_NE(error_of(name(server.url("net-00000000.pth"))).find("checksum mismatch"), std::string::npos);
  EXPECT_FALSE(fs::exists(home_ / "checkpoints" / "net-00000000.pth"));
}

TEST_F(PretrainedTest, AFailureNamesFileUrlAndTheWayToDoWithout) {
  const std::string refused = error_of(name("http://127.0.0.1:9/net.pth"));
  EXPECT_NE(refused.find("http://127.0.0.1:9/net.pth"), std::string::npos) << refused;
  EXPECT_NE(refused.find((home_ / "checkpoints" / "net.pth").string()), std::string::npos) << refused;
  EXPECT_NE(refused.find("--cfg-options model.pretrained=null"), std::string::npos) << refused;
  const std::string rfp = error_of(
      parse_config("neck: {rfp_backbone: {pretrained: no.pth}}")["neck"]["rfp_backbone"]["pretrained"]);
  EXPECT_NE(rfp.find("neck.rfp_backbone.pretrained=null neck.rfp_backbone.frozen_stages=-1"),
            std::string::npos)
      << rfp;
  EXPECT_NE(error_of(name("no/such/file.pth")).find("no such file"), std::string::npos);
  EXPECT_NE(error_of(name("torchvision://resnet51")).find("torchvision://resnet50"), std::string::npos);
}

TEST_F(PretrainedTest, FillsTheBackboneFromItsOwnOrAWholeDetectorsCheckpoint) {
  const Golden weights = Golden::open_shipped("detectors/htc.weights");
  for (const bool whole : {true, false}) {
    Safetensors file;
    for (const std::string& key : weights.names(whole ? "" : "backbone.")) {
      file.tensors.emplace_back(whole ? key : key.substr(9), weights.tensor(key));
    }
    const std::string path = (home_ / "w.safetensors").string();
    write_safetensors(path, file);
    const auto detector =
        build<Detector>(model_cfg(Golden::shipped_file("detectors/htc.yaml")).with("pretrained", path));
    detector->init_weights(1);
    const StateDict state = detector->state_dict();
    EXPECT_TENSOR_EQ(*state.find("backbone.layer3.0.conv2.weight"),
                     weights.tensor("backbone.layer3.0.conv2.weight"));
    EXPECT_GT(
        max_abs_diff(*state.find("rpn_head.rpn_conv.weight"), weights.tensor("rpn_head.rpn_conv.weight")), 0);
  }
}

// `prefix: backbone` names a part, with or without the dot (mmcv's init_cfg).
// model.init_cfg: everything that matches, heads included.
TEST_F(PretrainedTest, ADetectorsInitCfgFillsAllOfIt) {
  const Golden weights = Golden::open_shipped("detectors/htc.weights");
  Safetensors file;
  for (const std::string& key : weights.names()) file.tensors.emplace_back(key, weights.tensor(key));
  const std::string path = (home_ / "whole.safetensors").string();
  write_safetensors(path, file);
  const ConfigNode cfg = model_cfg(Golden::shipped_file("detectors/htc.yaml"));
  const auto init_cfg = [&](const std::string& checkpoint) {
    return parse_config("init_cfg: {type: Pretrained, checkpoint: '" + checkpoint + "'}")["init_cfg"];
  };
  const auto detector = build<Detector>(cfg.with("init_cfg", init_cfg(path)));
  detector->init_weights(1);
  const StateDict state = detector->state_dict();
  const StateDict expected = golden_state(weights);
  for (const auto& [name, tensor] : expected.entries()) {
    ASSERT_NE(state.find(name), nullptr) << name;
    EXPECT_TENSOR_EQ(state.find(name)->reshape({-1}), tensor.reshape({-1})) << name;
  }
  const auto missing = build<Detector>(cfg.with("init_cfg", init_cfg("no.pth")));
  EXPECT_THROW(missing->init_weights(1), UserError);
}

TEST_F(PretrainedTest, APrefixNamesAPartOfTheFile) {
  const Golden weights = Golden::open_shipped("detectors/htc.weights");
  Safetensors file;
  for (const std::string& key : weights.names("backbone."))
    file.tensors.emplace_back("module.student." + key.substr(9), weights.tensor(key));
  file.tensors.emplace_back("module.teacher.conv1.weight", Tensor::zeros({1}, DType::kF32));
  const std::string path = (home_ / "w.safetensors").string();
  write_safetensors(path, file);
  const auto load = [&](const std::string& prefix) {
    const auto detector = build<Detector>(model_cfg(Golden::shipped_file("detectors/htc.yaml")));
    load_pretrained(*detector->named_modules()[1].second, name(path), prefix);
    return *detector->state_dict().find("backbone.layer3.0.conv2.weight");
  };
  for (const char* prefix : {"module.student", "module.student."})
    EXPECT_TENSOR_EQ(load(prefix), weights.tensor("backbone.layer3.0.conv2.weight"));
  EXPECT_THROW(load("stud"), UserError);
}

TEST_F(PretrainedTest, AnEmptyNameLeavesTheBackboneToACheckpointThatFollows) {
  const auto detector = build<Detector>(
      model_cfg(Golden::shipped_file("detectors/htc.yaml")).with("pretrained", std::string()));
  EXPECT_NO_THROW(detector->init_weights(1));
}

TEST_F(PretrainedTest, WeightsOfAnotherShapeOrModelAreRefused) {
  const auto message = [&](const std::string& key, Shape shape) -> std::string {
    Safetensors file;
    file.tensors.emplace_back(key, Tensor::zeros(std::move(shape), DType::kF32));
    const std::string path = (home_ / "w.safetensors").string();
    write_safetensors(path, file);
    const auto detector =
        build<Detector>(model_cfg(Golden::shipped_file("detectors/htc.yaml")).with("pretrained", path));
    try {
      detector->init_weights(1);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message("conv1.weight", {64, 3, 7, 7}).find("conv1.weight"), std::string::npos);
  EXPECT_NE(message("encoder.weight", {2}).find("no weight of this model"), std::string::npos);
}

TEST(LintTest, FrozenPartsWithoutACheckpointAreCounted) {
  const auto detector = build<Detector>(model_cfg(Golden::shipped_file("detectors/htc.yaml")));
  EXPECT_NE(lint_frozen_at_random(*detector).find("33 parameters are frozen and 53 batch norms"),
            std::string::npos)
      << lint_frozen_at_random(*detector);
}

}  // namespace
}  // namespace osprey::testing
