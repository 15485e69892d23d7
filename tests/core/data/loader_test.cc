#include "core/data/data_loader.h"

#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <set>
#include <thread>

#include "core/data/prefetcher.h"
#include "core/data/sample.h"
#include "core/data/test_loader.h"
#include "tests/core/data/data_files.h"

namespace osprey {
namespace {

using testing::coco_annotation;
using testing::coco_image;
using testing::coco_json;
using testing::Folder;
using testing::user_error_of;

// Images whose only pixel is their random number; sizes in two groups. Image 3 is broken when asked for.
class NumberedDataset final : public Dataset {
 public:
  explicit NumberedDataset(int64_t size, bool broken = false) : size_(size), broken_(broken) {}
  int64_t size() const override { return size_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int group(int64_t index) const override { return index % 3 == 0 ? 1 : 0; }
  std::vector<int64_t> labels(int64_t) const override { return {}; }
  std::vector<Sample> get(int64_t index, CounterRng& rng) const override {
    ++loads;
    if (broken_ && index == 3) throw SampleError("images/3.jpg", "truncated JPEG");
    Sample sample;
    sample.img = cv::Mat(1, 1, CV_32FC3, cv::Scalar::all(rng.uniform()));
    sample.meta.dataset_index = index;
    sample.collected = {"img"};
    Samples samples;
    samples.push_back(std::move(sample));
    return samples;
  }
  EvalReport evaluate(const std::vector<DetectionResult>&, const EvalOptions&) const override { return {}; }
  void format_results(const std::vector<DetectionResult>&, const std::string&) const override {}

  mutable std::atomic<int> loads{0};

 private:
  int64_t size_;
  bool broken_;
  std::vector<std::string> classes_;
};

// What a batch is made of, as text.
std::string print(const Batch& batch) {
  std::string text = str_cat(batch.rng_seed, ":");
  for (int64_t i = 0; i < batch.size(); ++i) {
    text += str_cat(" ", batch.img_metas[i].dataset_index, "=", batch.img.data<float>()[3 * i]);
  }
  return text;
}

std::vector<std::string> read_epoch(DataLoader& loader, int64_t epoch, int64_t first_batch = 0) {
  std::vector<std::string> texts;
  loader.begin_epoch(epoch, first_batch);
  for (Batch batch; loader.next(batch);) texts.push_back(print(batch));
  return texts;
}

LoaderOptions options_of(int workers, int64_t samples_per_gpu = 2) {
  LoaderOptions options;
  options.samples_per_gpu = samples_per_gpu;
  options.workers_per_gpu = workers;
  options.seed = 7;
  return options;
}

TEST(GroupSampler, BatchesAreOfOneGroupAndCoverEverything) {
  const NumberedDataset dataset(22);
  const GroupSampler sampler(dataset, {4, 1, 0, 1});
  const auto batches = sampler.epoch(0);
  EXPECT_EQ(static_cast<int64_t>(batches.size()), sampler.batches_per_epoch());
  EXPECT_EQ(batches.size(), 4u + 2u);  // 14 of one group, 8 of the other, fours
  std::set<int64_t> seen;
  for (const BatchIndices& batch : batches) {
    ASSERT_EQ(batch.size(), 4u);
    for (const int64_t i : batch) {
      EXPECT_EQ(dataset.group(i), dataset.group(batch[0]));
      seen.insert(i);
    }
  }
  EXPECT_EQ(seen.size(), 22u);
  EXPECT_NE(sampler.epoch(0), sampler.epoch(1));
  EXPECT_EQ(sampler.epoch(1), sampler.epoch(1));
}

TEST(GroupSampler, RanksShareAnEpochEvenly) {
  const NumberedDataset dataset(22);
  std::set<int64_t> seen;
  for (int64_t rank = 0; rank < 3; ++rank) {
    const GroupSampler sampler(dataset, {2, 1, rank, 3});
    const auto batches = sampler.epoch(5);
    EXPECT_EQ(batches.size(), 3u + 2u);  // 14 and 8 images, filled up to multiples of six
    for (const BatchIndices& batch : batches) seen.insert(batch.begin(), batch.end());
  }
  EXPECT_EQ(seen.size(), 22u);
}

TEST(DataLoader, BatchesDoNotDependOnTheNumberOfWorkers) {
  const auto dataset = std::make_shared<NumberedDataset>(41);
  DataLoader alone(dataset, options_of(0));
  const auto expected = read_epoch(alone, 3);
  EXPECT_EQ(static_cast<int64_t>(expected.size()), alone.batches_per_epoch());
  EXPECT_NE(expected, read_epoch(alone, 4));
  for (const int workers : {1, 2, 4}) {
    DataLoader loader(dataset, options_of(workers));
    EXPECT_EQ(read_epoch(loader, 3), expected) << workers;
  }
}

TEST(DataLoader, ResumesInTheMiddleOfAnEpoch) {
  const auto dataset = std::make_shared<NumberedDataset>(41);
  DataLoader loader(dataset, options_of(2));
  const auto whole = read_epoch(loader, 1);
  for (const int64_t first : {1, 7, 20}) {
    DataLoader resumed(dataset, options_of(2));
    EXPECT_EQ(read_epoch(resumed, 1, first), std::vector<std::string>(whole.begin() + first, whole.end()));
  }
}

TEST(DataLoader, AnEpochCanBeGivenUp) {
  const auto dataset = std::make_shared<NumberedDataset>(200);
  DataLoader loader(dataset, options_of(3));
  const auto expected = read_epoch(loader, 2);
  for (int i = 0; i < 20; ++i) {
    loader.begin_epoch(i, 0);
    Batch batch;
    loader.next(batch);
  }
  EXPECT_EQ(read_epoch(loader, 2), expected);
}

TEST(DataLoader, EndsQuietlyInTheMiddleOfAnEpoch) {
  const auto dataset = std::make_shared<NumberedDataset>(1000);
  for (int i = 0; i < 20; ++i) {
    DataLoader loader(dataset, options_of(4));
    loader.begin_epoch(i, 0);
    Batch batch;
    for (int k = 0; k < i; ++k) loader.next(batch);
  }
}

TEST(DataLoader, ReadsAheadButNotTooFar) {
  const auto dataset = std::make_shared<NumberedDataset>(1000);
  DataLoader loader(dataset, options_of(2, 1));
  loader.begin_epoch(0, 0);
  Batch batch;
  loader.next(batch);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(dataset->loads, 1 + 2 * 2);
}

TEST(DataLoader, RaisesWhereTheBrokenImageWouldHaveBeen) {
  const auto dataset = std::make_shared<NumberedDataset>(21, /*broken=*/true);
  for (const int workers : {0, 2}) {
    DataLoader loader(dataset, options_of(workers));
    loader.begin_epoch(0, 0);
    int64_t before = 0;
    const std::string message = user_error_of([&] {
      for (Batch batch; loader.next(batch);) ++before;
    });
    EXPECT_EQ(message, "images/3.jpg: truncated JPEG");
    DataLoader whole(std::make_shared<NumberedDataset>(21), options_of(0));
    whole.begin_epoch(0, before);
    Batch batch;
    whole.next(batch);
    std::set<int64_t> indices;
    for (const ImgMeta& meta : batch.img_metas) indices.insert(meta.dataset_index);
    EXPECT_TRUE(indices.count(3));
  }
}

TEST(DataLoader, SkipsABrokenImageTheSameWayWhateverTheWorkers) {
  const auto dataset = std::make_shared<NumberedDataset>(21, /*broken=*/true);
  LoaderOptions options = options_of(0);
  options.on_error = OnError::kSkip;
  DataLoader alone(dataset, options);
  const auto expected = read_epoch(alone, 0);
  for (const std::string& text : expected) EXPECT_EQ(text.find(" 3="), std::string::npos);
  options.workers_per_gpu = 3;
  DataLoader loader(dataset, options);
  EXPECT_EQ(read_epoch(loader, 0), expected);
}

TEST(DataLoader, StopsWhenNoImageCanBeUsed) {
  const Folder folder;
  folder.write("a.json", coco_json(coco_image(1, "none.jpg"), coco_annotation(1, 1, 3, "[2, 2, 20, 20]")));
  const std::shared_ptr<const Dataset> dataset =
      build_dataset(parse_config(str_cat("{type: CocoDataset, classes: [cat], ann_file: ", folder / "a.json",
                                         ", pipeline: ", testing::kTrainPipeline, "}")));
  LoaderOptions options = options_of(1, 1);
  options.on_error = OnError::kSkip;
  DataLoader loader(dataset, options);
  loader.begin_epoch(0, 0);
  Batch batch;
  EXPECT_NE(user_error_of([&] { loader.next(batch); }).find("none of 100 images"), std::string::npos);
}

TEST(DataLoader, ReadsItsOptions) {
  const ConfigNode data = parse_config("{samples_per_gpu: 4, workers_per_gpu: 0, on_error: skip}");
  const LoaderOptions options = read_loader_options(data);
  EXPECT_EQ(options.samples_per_gpu, 4);
  EXPECT_EQ(options.workers_per_gpu, 0);
  EXPECT_EQ(options.on_error, OnError::kSkip);
  EXPECT_NE(user_error_of([] { read_loader_options(parse_config("{on_error: ignore}")); }).find("raise"),
            std::string::npos);
}

TEST(TestLoader, ReadsInOrderAndStartsAgain) {
  const auto dataset = std::make_shared<NumberedDataset>(7);
  for (const int workers : {0, 3}) {
    TestLoader loader(dataset, workers, /*rank=*/1, /*world_size=*/2);
    EXPECT_EQ(loader.size(), 3);
    for (int pass = 0; pass < 2; ++pass) {
      std::vector<int64_t> indices;
      for (TestItem item; loader.next(item);) {
        indices.push_back(item.index);
        ASSERT_EQ(item.augmentations.size(), 1u);
        EXPECT_EQ(item.augmentations[0].size(), 1);
      }
      EXPECT_EQ(indices, (std::vector<int64_t>{1, 3, 5}));
    }
  }
}

TEST(Prefetcher, ExceptionsOfAnyKindSurfaceInOrder) {
  Prefetcher<int64_t> prefetcher(3, 4, [](int64_t i) {
    if (i == 2) throw std::logic_error("two");
    return i;
  });
  prefetcher.start(0, 5);
  int64_t item = -1;
  EXPECT_TRUE(prefetcher.next(item));
  EXPECT_TRUE(prefetcher.next(item));
  EXPECT_EQ(item, 1);
  EXPECT_THROW(prefetcher.next(item), std::logic_error);
  EXPECT_TRUE(prefetcher.next(item));
  EXPECT_EQ(item, 3);
}

// A child, whose address space is full after some of the threads.
TEST(Prefetcher, TooManyThreadsAreAUserError) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto start_too_many = [] {
    const rlimit room = {rlim_t{2} << 30, rlim_t{2} << 30};
    ::setrlimit(RLIMIT_AS, &room);
    try {
      Prefetcher<int64_t>(10000, 4, [](int64_t i) { return i; });
    } catch (const UserError& error) {
      std::cerr << error.what();
      std::_Exit(error.exit_code());
    }
  };
  EXPECT_EXIT(start_too_many(), ::testing::ExitedWithCode(2), "cannot start 10000 loading threads");
}

}  // namespace
}  // namespace osprey
