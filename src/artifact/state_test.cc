// artifact/state_test.cc: contiguous and paged states advance together and are checked.
#include "artifact/test_fixture.h"

namespace ingot::artifact {
namespace {

class States : public testing::Test {
 protected:
  States() {
    past_.dtype = INGOT_FLOAT32;
    past_.batch = 2;
    past_.lengths = lengths_;
    past_.data = flat_.data();
    past_.capacity = 6;
    pages_ = past_;
    pages_.layout = INGOT_STATE_PAGED;
    pages_.data = pool_.data();
    pages_.blocks = 7;
    pages_.block_size = 2;
    pages_.block_table = table_;
    pages_.max_blocks = 3;
  }

  ingot_status run(float first) {
    Owned<float> x(INGOT_FLOAT32, {2, 2}, {first, first + 10, first + 20, first + 30});
    ingot_tensor inputs[3] = {x.tensor, INGOT_INIT(ingot_tensor), INGOT_INIT(ingot_tensor)};
    inputs[1].kind = inputs[2].kind = INGOT_KIND_STATE;
    inputs[1].data = &past_;
    inputs[2].data = &pages_;
    sums_ = std::vector<float>(8, -1);
    ingot_tensor output = unknown_output(INGOT_FLOAT32);
    output.data = sums_.data();
    output.data_bytes = 32;
    return cache_.api->run(cache_.model, inputs, 3, &output, 1, nullptr);
  }
  std::string fail() {
    EXPECT_EQ(run(0), INGOT_INVALID_ARGUMENT);
    return cache_.error();
  }

  Fixture cache_{"cache"};
  int64_t lengths_[2] = {0, 0};
  int32_t table_[6] = {6, 0, 3, 1, 5, 2};
  std::vector<float> flat_ = std::vector<float>(2 * 6 * 2);
  std::vector<float> pool_ = std::vector<float>(7 * 2 * 2);
  std::vector<float> sums_;
  ingot_state past_ = INGOT_INIT(ingot_state), pages_;
};

TEST_F(States, GrowUntilTheyAreFull) {
  float total = 0;
  for (int step = 0; step < 6; ++step) {
    const float first = static_cast<float>(step);
    ASSERT_EQ(run(first), INGOT_OK) << cache_.error();
    total += first;
    const float count = static_cast<float>(step + 1);
    EXPECT_EQ(sums_,
              (std::vector<float>{total, total + 10 * count, 2 * total, 2 * (total + 10 * count),
                                  total + 20 * count, total + 30 * count, 2 * (total + 20 * count),
                                  2 * (total + 30 * count)}));
    EXPECT_EQ(lengths_[0], step + 1);  // shared by both states, advanced once
    EXPECT_EQ(lengths_[1], step + 1);
  }
  EXPECT_EQ(fail(), "state 'past': sequence 0: 6 tokens and 1 new ones do not fit in 6");
  EXPECT_EQ(lengths_[0], 6);
}

TEST_F(States, MayHaveLengthsOfTheirOwn) {
  int64_t others[2] = {0, 0};
  pages_.lengths = others;
  ASSERT_EQ(run(1), INGOT_OK) << cache_.error();
  EXPECT_EQ(lengths_[1], 1);
  EXPECT_EQ(others[1], 1);
}

TEST_F(States, ChecksTheStruct) {
  past_.struct_size = 8;
  EXPECT_NE(fail().find("state 'past': struct_size is 8"), std::string::npos);
  past_.struct_size = sizeof past_;
  past_.layout = INGOT_STATE_PAGED;
  EXPECT_EQ(fail(), "state 'past': expected the contiguous layout, got layout 1");
  past_.layout = INGOT_STATE_CONTIGUOUS;
  past_.dtype = INGOT_BFLOAT16;
  EXPECT_EQ(fail(), "state 'past': expected float32, got bfloat16 (dtype 16)");
  past_.dtype = INGOT_FLOAT32;
  const int64_t token[1] = {3};
  past_.token_dims = token;
  past_.token_rank = 1;
  EXPECT_EQ(fail(), "state 'past': token dim 0: expected 2, got 3");
  past_.token_rank = 2;
  EXPECT_EQ(fail(), "state 'past': expected tokens of rank 1, got 2");
}

TEST_F(States, ChecksSizesAndPointers) {
  past_.batch = 3;
  EXPECT_EQ(fail(), "state 'past': batch ('batch'): expected 2 as elsewhere, got 3");
  past_.batch = 2;
  past_.capacity = -1;
  EXPECT_EQ(fail(),
            "state 'past': capacity ('capacity'): expected a multiple of 1 in 0..1000, got -1");
  past_.capacity = 6;
  past_.data = nullptr;
  EXPECT_EQ(fail(), "state 'past': expected data, got null");
  past_.data = reinterpret_cast<char*>(flat_.data()) + 1;
  EXPECT_NE(fail().find("are not aligned to their elements"), std::string::npos);
  past_.data = flat_.data();
  past_.lengths = nullptr;
  EXPECT_EQ(fail(), "state 'past': expected lengths, got null");
  past_.lengths = lengths_;
  lengths_[1] = -4;
  EXPECT_EQ(fail(), "state 'past': length 1: expected at least 0, got -4");
  lengths_[1] = 0;
  pages_.block_size = 4;
  EXPECT_EQ(fail(), "state 'pages': block_size: expected 2, got 4");
  pages_.block_size = 2;
  pages_.block_table = nullptr;
  EXPECT_EQ(fail(), "state 'pages': expected a block table, got null");
  pages_.block_table = table_;
  table_[3] = 7;
  EXPECT_EQ(fail(), "state 'pages': block 0 of sequence 1: expected 0..6, got 7");
}

TEST_F(States, HaveRoomForWhatTheLengthsSay) {
  lengths_[1] = 7;
  EXPECT_EQ(fail(), "state 'past': sequence 1: 7 tokens and 1 new ones do not fit in 6");
  lengths_[1] = INT64_MAX;
  EXPECT_NE(fail().find("longest"), std::string::npos);  // the symbol allows 0..1000
  lengths_[1] = 0;
  pages_.max_blocks = 0;
  EXPECT_EQ(fail(), "state 'pages': sequence 0: 0 tokens and 1 new ones do not fit in 0");
  pages_.max_blocks = 3;
  pages_.blocks = 0;
  EXPECT_EQ(fail(), "state 'pages': block 0 of sequence 0: expected 0..-1, got 6");
  pages_.blocks = 7;
  past_.capacity = 0;
  EXPECT_EQ(fail(), "state 'past': sequence 0: 0 tokens and 1 new ones do not fit in 0");
}

TEST_F(States, MayHoldNoSequence) {
  past_.batch = pages_.batch = 0;
  past_.lengths = pages_.lengths = nullptr;
  past_.data = pages_.data = nullptr;
  past_.capacity = pages_.blocks = pages_.max_blocks = 0;
  pages_.block_table = nullptr;
  Owned<float> x(INGOT_FLOAT32, {0, 2}, {});
  ingot_tensor inputs[3] = {x.tensor, INGOT_INIT(ingot_tensor), INGOT_INIT(ingot_tensor)};
  inputs[1].kind = inputs[2].kind = INGOT_KIND_STATE;
  inputs[1].data = &past_;
  inputs[2].data = &pages_;
  ingot_tensor output = unknown_output(INGOT_FLOAT32);
  ASSERT_EQ(cache_.api->run(cache_.model, inputs, 3, &output, 1, nullptr), INGOT_OK)
      << cache_.error();
  cache_.api->free_output(cache_.model, output.data);
}

TEST_F(States, NeedTheirKind) {
  Owned<float> x(INGOT_FLOAT32, {2, 2}, std::vector<float>(4));
  const ingot_tensor inputs[3] = {x.tensor, x.tensor, x.tensor};
  ingot_tensor output = unknown_output(INGOT_FLOAT32);
  EXPECT_EQ(cache_.api->run(cache_.model, inputs, 3, &output, 1, nullptr), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(cache_.error(),
            "state 'past': expected a tensor of INGOT_KIND_STATE whose data is an ingot_state");
}

TEST_F(States, AreDescribed) {
  const ingot_state_info* pages = cache_.api->state(cache_.model, 1);
  ASSERT_NE(pages, nullptr);
  EXPECT_STREQ(pages->name, "pages");
  EXPECT_STREQ(pages->output_name, "pages_out");
  EXPECT_EQ(pages->layout, INGOT_STATE_PAGED);
  EXPECT_EQ(pages->block_size, 2);
  EXPECT_EQ(pages->token_dims[0], 2);
  EXPECT_EQ(pages->appended, 1);
  EXPECT_STREQ(pages->batch.text, "batch");
  EXPECT_EQ(cache_.api->state(cache_.model, 2), nullptr);
}

}  // namespace
}  // namespace ingot::artifact
