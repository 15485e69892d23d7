#pragma once

#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace osprey {

// What the processes of one run, its ranks, say to each other. Every call but abort() and last_words() is
// collective: all ranks make the same calls in the same order, with tensors of equal shape and dtype, from
// one thread each; results are bitwise the same everywhere. A communicator of one does nothing, so that
// nobody needs to ask how many there are.
class Communicator {
 public:
  enum class Reduce { kSum, kMin, kMax };

  virtual ~Communicator() = default;
  virtual int rank() const = 0;  // in [0, size())
  virtual int size() const = 0;
  virtual int local_rank() const = 0;  // among those of this machine
  virtual int local_size() const = 0;
  bool is_main() const { return rank() == 0; }  // the one that writes

  // The sum over all ranks, in place. Floating and integer dtypes; halves are added up in f32 and rounded
  // once. On CUDA it is work of the thread's stream where NCCL does it, else the host waits.
  virtual void all_reduce(Tensor& tensor) = 0;
  virtual void broadcast(Tensor& tensor, int root = 0) = 0;

  // The same for numbers and bytes of the host.
  virtual void all_reduce(std::vector<double>& values, Reduce how) = 0;
  virtual void broadcast(std::string& bytes, int root = 0) = 0;
  virtual std::vector<std::string> all_gather(const std::string& bytes) = 0;  // by rank
  // Rank 0 has all of them; the others have none.
  virtual std::vector<std::string> gather(const std::string& bytes) = 0;
  virtual void barrier() = 0;

  double max(double value);
  double min(double value);
  bool any(bool value);  // on any rank

  // Ends the processes of all ranks.
  [[noreturn]] virtual void abort(int exit_code) = 0;
  // Of a rank that ends with an error: whether it prints the message. When all ranks fail alike, rank 0 does.
  // A rank that fails alone prints here, and ends the job: the others would wait for it for ever.
  virtual bool last_words(const std::string& message, int exit_code) = 0;
  // The end of a program, collective. Nothing may be called afterwards.
  virtual void leave() = 0;
};

// The ranks of this run: this process alone until it has joined others (join_mpi_world()).
Communicator& world();
void set_world(Communicator& ranks);

// While one lives, world() is this process alone: for work that other ranks take no part in.
class OnOwn {
 public:
  OnOwn();
  ~OnOwn();
  OnOwn(const OnOwn&) = delete;
  OnOwn& operator=(const OnOwn&) = delete;

 private:
  Communicator& joined_;
};

}  // namespace osprey
