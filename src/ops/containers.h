// ops/containers.h: sequences and optionals, whose items are tensors of one dtype and any shape.
//
// An optional is a container of at most one item, which may be a sequence. Ranks and dims of items
// are no part of a type: who takes an item out says which rank it has, and its dims are symbols
// that the run finds out.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = a sequence of all x, or an optional of x or of nothing.
struct ContainerOf {
  int64_t count = 0;
  bool nested = false;  // an optional of a sequence
  bool optional = false;
  DType dtype = DType::f32;

  static constexpr std::string_view kName = "container_of";
  static constexpr std::string_view kDoc =
      "y = the sequence of all x; or, if optional, what holds x, or nothing where there is none. "
      "Tensors have elements of dtype; if nested, the optional is one of sequences.\n"
      "C1: count inputs, tensors of dtype, or if nested sequences of such.\n"
      "C2: an optional has at most one item; only an optional is nested.\n"
      "Sources: ONNX SequenceConstruct-11, SequenceEmpty-11, Optional-15.";
  static constexpr std::array kInputs = {Port{"x", "the items", PortKind::variadic}};
  static constexpr std::array kOutputs = {Port{"y", "a sequence or optional"}};
  static constexpr auto kFields =
      std::tuple{field("count", &ContainerOf::count), field("nested", &ContainerOf::nested),
                 field("optional", &ContainerOf::optional), field("dtype", &ContainerOf::dtype)};
  static constexpr Accuracy kAccuracy = exact();  // moves elements
  static constexpr RoutineInfo kRoutine = {"ingot_container_of"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<ContainerOf> sample(Random& rng, ExprPool& pool);
};

/// y = x, in memory of its own.
struct ContainerCopy {
  static constexpr std::string_view kName = "container_copy";
  static constexpr std::string_view kDoc =
      "y = x. What a graph gives out needs memory of its own, here for the handle; the items are "
      "not copied.\n"
      "C1: x is a container.";
  static constexpr std::array kInputs = {Port{"x", "a sequence, optional or map"}};
  static constexpr std::array kOutputs = {Port{"y", "type of x"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();
  static constexpr RoutineInfo kRoutine = {"ingot_container_copy"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<ContainerCopy> sample(Random& rng, ExprPool& pool);
};

/// n = the number of items of x.
struct ContainerLength {
  static constexpr std::string_view kName = "container_length";
  static constexpr std::string_view kDoc =
      "n = how many items x has; of an optional 0 or 1.\n"
      "C1: x is a sequence or optional.\n"
      "Sources: ONNX SequenceLength-11, OptionalHasElement-18.";
  static constexpr std::array kInputs = {Port{"x", "a sequence or optional"}};
  static constexpr std::array kOutputs = {Port{"n", "i64[]"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();
  static constexpr RoutineInfo kRoutine = {"ingot_container_length"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<ContainerLength> sample(Random& rng, ExprPool& pool);
};

/// y = item number `position` of x.
struct ContainerAt {
  int64_t rank = 0;

  static constexpr std::string_view kName = "container_at";
  static constexpr std::string_view kDoc =
      "y = item number position of x, counted from the end where it is negative. A tensor has rank "
      "dims, which are new symbols, known only once y is computed. A position that x does not "
      "have, and an item of another rank, end the run.\n"
      "C1: x is a sequence or optional of something.\n"
      "C2: position is one i64.\n"
      "C3: rank is within 0..64.\n"
      "Sources: ONNX SequenceAt-11, OptionalGetElement-18.";
  static constexpr std::array kInputs = {Port{"x", "a sequence or optional"},
                                         Port{"position", "i64[]"}};
  static constexpr std::array kOutputs = {Port{"y", "an item: a tensor, or a sequence"}};
  static constexpr auto kFields = std::tuple{field("rank", &ContainerAt::rank)};
  static constexpr Accuracy kAccuracy = exact();
  static constexpr RoutineInfo kRoutine = {"ingot_container_at"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<ContainerAt> sample(Random& rng, ExprPool& pool);
};

/// y = s with x in front of item number `position`, or behind all.
struct SequenceInsert {
  bool has_position = false;

  static constexpr std::string_view kName = "sequence_insert";
  static constexpr std::string_view kDoc =
      "y = the sequence s with x in front of its item number position, counted from the end where "
      "it is negative; behind all without a position. A position outside of -n..n, n being the "
      "number of items, ends the run.\n"
      "C1: s is a sequence of tensors, x a tensor of their dtype.\n"
      "C2: position is one i64, there if has_position says so.\n"
      "Sources: ONNX SequenceInsert-11.";
  static constexpr std::array kInputs = {Port{"s", "a sequence"}, Port{"x", "a tensor"},
                                         Port{"position", "i64[]", PortKind::variadic}};
  static constexpr std::array kOutputs = {Port{"y", "type of s"}};
  static constexpr auto kFields = std::tuple{field("has_position", &SequenceInsert::has_position)};
  static constexpr Accuracy kAccuracy = exact();
  static constexpr RoutineInfo kRoutine = {"ingot_sequence_insert"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<SequenceInsert> sample(Random& rng, ExprPool& pool);
};

/// y = s without item number `position`, or without the last.
struct SequenceErase {
  bool has_position = false;

  static constexpr std::string_view kName = "sequence_erase";
  static constexpr std::string_view kDoc =
      "y = the sequence s without its item number position, counted from the end where it is "
      "negative; without the last where there is no position. A position that s does not have ends "
      "the run.\n"
      "C1: s is a sequence.\n"
      "C2: position is one i64, there if has_position says so.\n"
      "Sources: ONNX SequenceErase-11.";
  static constexpr std::array kInputs = {Port{"s", "a sequence"},
                                         Port{"position", "i64[]", PortKind::variadic}};
  static constexpr std::array kOutputs = {Port{"y", "type of s"}};
  static constexpr auto kFields = std::tuple{field("has_position", &SequenceErase::has_position)};
  static constexpr Accuracy kAccuracy = exact();
  static constexpr RoutineInfo kRoutine = {"ingot_sequence_erase"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<SequenceErase> sample(Random& rng, ExprPool& pool);
};

/// y = the pieces of x along an axis.
struct SequenceSplit {
  int64_t axis = 0;
  bool keepdims = true;
  bool has_sizes = false;

  static constexpr std::string_view kName = "sequence_split";
  static constexpr std::string_view kDoc =
      "y = the pieces of x along axis: of size elements each but for the last, where size is one "
      "number; of as many elements as the numbers say; or, without size, of one element, and "
      "without the axis unless keepdims. Sizes below 1, or that do not add up to the dim, end the "
      "run.\n"
      "C1: -rank <= axis < rank of x.\n"
      "C2: size is i64[] or i64[n], there if has_sizes says so.\n"
      "Sources: ONNX SplitToSequence-24.";
  static constexpr std::array kInputs = {Port{"x", "a tensor, rank above 0"},
                                         Port{"size", "i64[] or i64[n]", PortKind::variadic}};
  static constexpr std::array kOutputs = {Port{"y", "a sequence"}};
  static constexpr auto kFields =
      std::tuple{field("axis", &SequenceSplit::axis), field("keepdims", &SequenceSplit::keepdims),
                 field("has_sizes", &SequenceSplit::has_sizes)};
  static constexpr Accuracy kAccuracy = exact();
  static constexpr RoutineInfo kRoutine = {"ingot_sequence_split"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<SequenceSplit> sample(Random& rng, ExprPool& pool);
};

/// y = all items of s as one tensor.
struct SequenceConcat {
  int64_t axis = 0;
  bool new_axis = false;
  int64_t rank = 1;  // of the items

  static constexpr std::string_view kName = "sequence_concat";
  static constexpr std::string_view kDoc =
      "y = the items of s, tensors of rank dims, one behind the other along axis, or along a new "
      "axis in its place. The dims of y are new symbols. No items, and items whose other dims "
      "differ, end the run.\n"
      "C1: s is a sequence of tensors.\n"
      "C2: rank is within 0..63, and above 0 without a new axis.\n"
      "C3: axis is one of y, which has rank dims and the new one.\n"
      "Sources: ONNX ConcatFromSequence-11.";
  static constexpr std::array kInputs = {Port{"s", "a sequence"}};
  static constexpr std::array kOutputs = {Port{"y", "a tensor"}};
  static constexpr auto kFields =
      std::tuple{field("axis", &SequenceConcat::axis), field("new_axis", &SequenceConcat::new_axis),
                 field("rank", &SequenceConcat::rank)};
  static constexpr Accuracy kAccuracy = exact();
  static constexpr RoutineInfo kRoutine = {"ingot_sequence_concat"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<SequenceConcat> sample(Random& rng, ExprPool& pool);
};

// ---- what they have in common ----------------------------------------------------------------

/// Errors: `type` is no sequence or optional of something.
Status expect_container(std::string_view op, std::string_view port, const Type& type);
/// Errors: `type` is no sequence of tensors.
Status expect_sequence(std::string_view op, std::string_view port, const Type& type);
/// Input `slot` is one i64 if there should be one, and nothing is behind it.
Status expect_position(std::string_view op, const InferContext& ctx, size_t slot, bool wanted);
/// Dims that only a run finds out.
Exprs fresh_dims(ExprPool& pool, std::string_view name, int64_t rank);
/// A position counted from the front; nothing if it is not in [0, end).
std::optional<int64_t> find_position(int64_t position, int64_t count, int64_t end);
/// A sequence of f32, i64 or strings, for samples.
Type sample_sequence(Random& rng);

}  // namespace ingot::ops
