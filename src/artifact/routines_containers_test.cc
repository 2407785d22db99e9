// artifact/routines_containers_test.cc: routines of strings and containers on literals, as a step
// calls them: bytes of every kind, nothing at all, and positions and sizes that do not fit.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "artifact/heap.h"
#include "artifact/routines.h"
#include "base/text_table.h"

namespace ingot::artifact {
namespace {

using Strings = std::vector<std::string>;
constexpr i64 kMost = std::numeric_limits<i64>::max(), kLeast = std::numeric_limits<i64>::min();

/// One step. Outputs have exactly as many bytes as they should, so that sanitizers see more.
class Step {
 public:
  std::vector<i64> attributes;
  std::vector<RoutineDim> output_dims;
  i64 symbols[4] = {-1, -1, -1, -1};

  void add_input(i32 dtype, std::vector<i64> dims, void* data) {
    const auto& kept = dims_.emplace_back(std::move(dims));
    inputs_.push_back({dtype, static_cast<u32>(kept.size()), kept.data()});
    values_.push_back(data);
  }
  void add_strings(std::vector<i64> dims, const Strings& texts) {
    auto& handles = handles_.emplace_back();
    for (const std::string& text : texts) {
      const std::string& kept = texts_.emplace_back(text);
      // An empty string may be no handle at all.
      handles.push_back(
          kept.empty() ? nullptr : &strings_.emplace_back(ingot_string{kept.data(), kept.size()}));
    }
    add_input(INGOT_STRING, std::move(dims), handles.data());
  }
  void add_number(i64 number) { add_input(INGOT_INT64, {}, &numbers_.emplace_back(number)); }
  void add_container(const ingot_container* container) {
    add_input(INGOT_UINT64, {}, &containers_.emplace_back(container));
  }
  void add_text(std::string_view text) {
    literals_.push_back({text.data(), static_cast<i64>(text.size())});
  }
  void add_output(std::function<i64(const Step&)> bytes) {
    output_bytes_.push_back(std::move(bytes));
  }

  /// Empty, or what the routine says.
  std::string run(int (*routine)(RoutineArgs&, const RoutineTensor*)) {
    const char* error = "";
    outputs_begin_ = values_.size();
    values_.resize(outputs_begin_ + output_bytes_.size());
    RoutineArgs args = {};
    args.values = values_.data();
    args.symbols = symbols;
    args.attributes = attributes.data();
    args.allocate_outputs = allocate_outputs;
    args.run = this;
    args.error = &error;
    args.texts = literals_.data();
    args.output_dims = output_dims.data();
    args.allocate = allocate;
    const int status = routine(args, inputs_.data());
    EXPECT_EQ(status == INGOT_OK, *error == '\0');
    return error;
  }

  template <class T>
  const T* output(size_t k) const {
    return static_cast<const T*>(values_[outputs_begin_ + k]);
  }
  Strings strings(size_t k) const {
    Strings texts;
    const auto* handles = output<const ingot_string*>(k);
    for (size_t i = 0; i < outputs_[k].size() / sizeof(void*); ++i) {
      texts.push_back(handles[i] == nullptr ? ""
                                            : std::string(handles[i]->data, handles[i]->length));
    }
    return texts;
  }
  const ingot_container& container() const { return **output<const ingot_container*>(0); }

 private:
  static int allocate_outputs(void* run) {
    Step& step = *static_cast<Step*>(run);
    for (size_t k = 0; k < step.output_bytes_.size(); ++k) {
      auto& memory = step.outputs_.emplace_back(static_cast<size_t>(step.output_bytes_[k](step)));
      step.values_[step.outputs_begin_ + k] = memory.data();
    }
    return 1;
  }
  static void* allocate(void* run, i64 bytes) {
    return static_cast<Step*>(run)->heap_.allocate(bytes);
  }

  RunHeap heap_;
  std::vector<RoutineTensor> inputs_;
  std::vector<void*> values_;
  std::vector<Text> literals_;
  std::deque<std::vector<i64>> dims_;
  std::deque<std::string> texts_;
  std::deque<ingot_string> strings_;
  std::deque<std::vector<const ingot_string*>> handles_;
  std::deque<i64> numbers_;
  std::deque<const ingot_container*> containers_;
  std::vector<std::function<i64(const Step&)>> output_bytes_;
  std::deque<std::vector<u8>> outputs_;
  size_t outputs_begin_ = 0;
};

std::function<i64(const Step&)> bytes(i64 count) {
  return [count](const Step&) { return count; };
}

const std::string kZero("a\0b", 3), kNoUtf8 = "\xFF\xC3", kCut = "\xE2\x82";

TEST(StringRoutines, SplitWhateverBytes) {
  Step step;
  step.attributes = {-1};
  step.add_text("");
  step.add_strings({4}, {kZero + " " + kNoUtf8, "", " \t", kCut});
  step.add_output([](const Step& s) { return 4 * s.symbols[0] * i64{8}; });
  step.add_output(bytes(32));
  EXPECT_EQ(step.run(ingot_string_split), "");
  EXPECT_EQ(step.symbols[0], 2);
  EXPECT_EQ(step.strings(0), (Strings{kZero, kNoUtf8, "", "", "", "", kCut, ""}));
  EXPECT_EQ(step.output<i64>(1)[2], 0);
}

TEST(StringRoutines, SplitNothing) {
  Step step;
  step.attributes = {0};
  step.add_text(",");
  step.add_strings({0, 3}, {});
  step.add_output(bytes(0));
  step.add_output(bytes(0));
  EXPECT_EQ(step.run(ingot_string_split), "");
  EXPECT_EQ(step.symbols[0], 0);
}

TEST(StringRoutines, NormalizeWhateverBytes) {
  Step step;
  step.attributes = {1, 0, 1, 3};
  const u32 row[4] = {'A', 'Z', 1, 32};
  step.add_text({reinterpret_cast<const char*>(row), sizeof row});
  step.add_text("");
  step.add_text("stop");
  step.add_strings({4}, {"STOP", kNoUtf8 + "X", "", kZero});
  step.add_output([](const Step& s) { return s.symbols[0] * i64{8}; });
  EXPECT_EQ(step.run(ingot_string_normalize), "");
  EXPECT_EQ(step.strings(0), (Strings{kNoUtf8 + "x", "", kZero}));
}

TEST(StringRoutines, FindRankConcatAndCompare) {
  Step find;
  find.attributes = {2};
  const std::string table = text_table(Strings{"", kZero});
  find.add_text(table);
  find.add_text("");
  find.add_text(kZero);
  find.add_strings({3}, {kZero, "a", ""});
  find.add_output(bytes(24));
  EXPECT_EQ(find.run(ingot_string_find), "");
  EXPECT_EQ(std::vector<i64>(find.output<i64>(0), find.output<i64>(0) + 3),
            (std::vector<i64>{1, 2, 0}));
  Step rank;
  rank.add_strings({4}, {kNoUtf8, "", kZero, ""});
  rank.add_output(bytes(32));
  EXPECT_EQ(rank.run(ingot_string_rank), "");
  EXPECT_EQ(std::vector<i64>(rank.output<i64>(0), rank.output<i64>(0) + 4),
            (std::vector<i64>{2, 0, 1, 0}));
  for (const auto routine : {ingot_string_concat, ingot_string_equal}) {
    Step pair;
    pair.add_strings({2, 1}, {"", kZero});
    pair.add_strings({2}, {kNoUtf8, ""});
    const bool joins = routine == ingot_string_concat;
    pair.add_output(bytes(joins ? 32 : 4));
    EXPECT_EQ(pair.run(routine), "");
    if (joins) {
      EXPECT_EQ(pair.strings(0), (Strings{kNoUtf8, "", kZero + kNoUtf8, kZero}));
    } else {
      EXPECT_EQ(pair.output<u8>(0)[1], 1);
    }
    Step unlike;
    unlike.add_strings({2}, {"", ""});
    unlike.add_strings({3}, {"", "", ""});
    unlike.add_output(bytes(0));
    EXPECT_EQ(unlike.run(routine), "the dims of its operands do not broadcast");
  }
}

TEST(StringRoutines, Numbers) {
  const auto read = [](const std::string& text, i32 dtype) {
    Step step;
    step.attributes = {dtype};
    step.add_strings({1}, {text});
    step.add_output(bytes(8));
    return step.run(ingot_string_to_number);
  };
  EXPECT_EQ(read(" 12\n", INGOT_INT64), "");
  const std::string wrong = "a string is no number of the type that it is cast to";
  for (const std::string& text : {std::string(), kZero, std::string("1\0", 2), std::string("1 2"),
                                  std::string("1.5x"), std::string("99999999999999999999"),
                                  std::string("9.3e18"), std::string("inf"), std::string("nan")}) {
    EXPECT_EQ(read(text, INGOT_INT64), wrong) << text;
  }
  EXPECT_EQ(read("1e20", INGOT_UINT64), wrong);
  EXPECT_EQ(read("-0.5", INGOT_UINT64), wrong);
  Step cut;
  cut.attributes = {INGOT_INT64};
  cut.add_strings({3}, {"100.5", "-1.9e1", "-9.223372036854775808e18"});
  cut.add_output(bytes(24));
  EXPECT_EQ(cut.run(ingot_string_to_number), "");
  EXPECT_EQ(cut.output<i64>(0)[0], 100);
  EXPECT_EQ(cut.output<i64>(0)[1], -19);
  EXPECT_EQ(cut.output<i64>(0)[2], std::numeric_limits<i64>::min());
  double numbers[3] = {-std::numeric_limits<double>::max(), 5e-324, 1.0 / 3};
  Step step;
  step.add_input(INGOT_FLOAT64, {3}, numbers);
  step.add_output(bytes(24));
  EXPECT_EQ(step.run(ingot_number_to_string), "");
  EXPECT_EQ(step.strings(0), (Strings{"-1.7976931e+308", "4.9406565e-324", "0.33333333"}));
}

/// A sequence of [2], [1] and a scalar.
struct Three {
  float data[4] = {1, 2, 3, 4};
  i64 dims[2] = {2, 1};
  ingot_tensor items[3] = {};
  ingot_container container = {sizeof(ingot_container), 3, items};

  Three() {
    for (int k = 0; k < 3; ++k) {
      items[k].struct_size = sizeof(ingot_tensor);
      items[k].dtype = INGOT_FLOAT32;
      items[k].rank = k < 2 ? 1 : 0;
      items[k].dims = dims + k;
      items[k].data = data + k;
    }
  }
};

TEST(ContainerRoutines, RefusePositionsOutside) {
  Three three;
  for (const i64 position : {i64{3}, i64{-4}, kMost, kLeast}) {
    Step at, erase;
    at.attributes = {1};
    erase.attributes = {1};
    for (Step* step : {&at, &erase}) {
      step->add_container(&three.container);
      step->add_number(position);
      step->add_output(bytes(8));
    }
    EXPECT_EQ(at.run(ingot_container_at), "the position is outside of it");
    EXPECT_EQ(erase.run(ingot_sequence_erase), "the position is outside of the sequence");
  }
  for (const i64 position : {i64{4}, i64{-4}, kMost, kLeast}) {
    Step insert;
    insert.attributes = {1};
    insert.add_container(&three.container);
    insert.add_input(INGOT_FLOAT32, {}, three.data);
    insert.add_number(position);
    insert.add_output(bytes(8));
    EXPECT_EQ(insert.run(ingot_sequence_insert), "the position is outside of the sequence");
  }
}

TEST(ContainerRoutines, CheckItems) {
  Three three;
  Step scalar, other;
  scalar.attributes = {1};
  other.attributes = {1};
  other.output_dims = {{kKnownDim, 5}};
  for (Step* step : {&scalar, &other}) step->add_container(&three.container);
  scalar.add_number(-1);
  other.add_number(0);
  EXPECT_EQ(scalar.run(ingot_container_at), "the item has another rank than the model says");
  EXPECT_EQ(other.run(ingot_container_at), "the item has other dims than the model says");
  Step concat;
  concat.attributes = {0, 0, 1};
  concat.add_container(&three.container);
  EXPECT_EQ(concat.run(ingot_sequence_concat), "an item has another rank than the model says");
  three.container.count = 2;
  Step stack;
  stack.attributes = {0, 1, 1};
  stack.add_container(&three.container);
  EXPECT_EQ(stack.run(ingot_sequence_concat), "the items have different dims");
  three.container.count = 0;
  Step nothing;
  nothing.attributes = {0, 0, 1};
  nothing.add_container(&three.container);
  EXPECT_EQ(nothing.run(ingot_sequence_concat), "the sequence is empty");
}

TEST(ContainerRoutines, Concat) {
  Three three;
  three.container.count = 2;
  Step step;
  step.attributes = {-1, 0, 1};
  step.output_dims = {{2, 0}};
  step.add_container(&three.container);
  step.add_output([](const Step& s) { return s.symbols[2] * i64{4}; });
  EXPECT_EQ(step.run(ingot_sequence_concat), "");
  EXPECT_EQ(step.symbols[2], 3);
  EXPECT_EQ(step.output<float>(0)[2], 2);
}

std::string split(std::vector<i64> sizes, bool is_list, std::vector<i64>* lengths = nullptr) {
  float data[5] = {1, 2, 3, 4, 5};
  Step step;
  step.attributes = {0, 1, 1};
  step.add_input(INGOT_FLOAT32, {5}, data);
  step.add_input(INGOT_INT64,
                 is_list ? std::vector<i64>{static_cast<i64>(sizes.size())} : std::vector<i64>{},
                 sizes.data());
  step.add_output(bytes(8));
  std::string error = step.run(ingot_sequence_split);
  if (error.empty() && lengths != nullptr) {
    for (i64 k = 0; k < step.container().count; ++k) {
      lengths->push_back(step.container().items[k].dims[0]);
    }
  }
  return error;
}

TEST(ContainerRoutines, SplitBySizesOfEveryKind) {
  std::vector<i64> lengths;
  EXPECT_EQ(split({2}, false, &lengths), "");
  EXPECT_EQ(split({kMost}, false, &lengths), "");
  EXPECT_EQ(split({0, 5, 0}, true, &lengths), "");
  EXPECT_EQ(lengths, (std::vector<i64>{2, 2, 1, 5, 0, 5, 0}));
  EXPECT_EQ(split({0}, false), "expected pieces of at least one element");
  EXPECT_EQ(split({kLeast}, false), "expected pieces of at least one element");
  for (const auto& sizes : {std::vector<i64>{}, {6, -1}, {kMost, kMost, 7}, {4}, {kLeast, 5}}) {
    EXPECT_EQ(split(sizes, true), "the sizes of the pieces do not add up to the dim");
  }
}

TEST(ContainerRoutines, ItemsOfStringsAreCopies) {
  Step step;
  step.attributes = {2, 0};
  step.add_strings({2}, {kZero, ""});
  step.add_strings({0}, {});
  step.add_output(bytes(8));
  EXPECT_EQ(step.run(ingot_container_of), "");
  ASSERT_EQ(step.container().count, 2);
  const auto* texts = static_cast<const ingot_string*>(step.container().items[0].data);
  EXPECT_EQ(std::string(texts[0].data, texts[0].length), kZero);
  EXPECT_EQ(texts[1].length, 0u);
  EXPECT_EQ(step.container().items[1].dims[0], 0);
}

}  // namespace
}  // namespace ingot::artifact
