#include "core/parallel/communicator.h"

#include <cstdlib>

namespace osprey {
namespace {

class SingleProcess final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_rank() const override { return 0; }
  int local_size() const override { return 1; }
  void all_reduce(Tensor&) override {}
  void broadcast(Tensor&, int) override {}
  void all_reduce(std::vector<double>&, Reduce) override {}
  void broadcast(std::string&, int) override {}
  std::vector<std::string> all_gather(const std::string& bytes) override { return {bytes}; }
  std::vector<std::string> gather(const std::string& bytes) override { return {bytes}; }
  void barrier() override {}
  void abort(int exit_code) override { std::_Exit(exit_code); }
  bool last_words(const std::string&, int) override { return true; }
  void leave() override {}
};

constinit SingleProcess single_process;
constinit Communicator* current = &single_process;

double reduce(Communicator& ranks, double value, Communicator::Reduce how) {
  std::vector<double> values{value};
  ranks.all_reduce(values, how);
  return values[0];
}

}  // namespace

double Communicator::max(double value) { return reduce(*this, value, Reduce::kMax); }
double Communicator::min(double value) { return reduce(*this, value, Reduce::kMin); }
bool Communicator::any(bool value) { return max(value ? 1 : 0) > 0; }

Communicator& world() { return *current; }
void set_world(Communicator& ranks) { current = &ranks; }

OnOwn::OnOwn() : joined_(*current) { current = &single_process; }
OnOwn::~OnOwn() { current = &joined_; }

}  // namespace osprey
