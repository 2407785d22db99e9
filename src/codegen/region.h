// codegen/region.h: the elements of a fused region as expressions over the elements of its inputs.
//
// A region is the closed body graph of a `fusion` node. Asking for one element of one of its values
// follows the ops' `lower` functions up to the region's inputs, so any chain of ops becomes one
// expression: this is all there is to fusing pointwise, data-moving and reducing ops.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "kernel/stmt.h"

namespace ingot {

/// Maps body values to expressions and body inputs to numbered buffers. A tensor input is one
/// buffer, a state input one per plane (data, paged: table, lengths); outputs follow.
class Region {
 public:
  /// Makes an element of a value known from elsewhere, such as a template's accumulator.
  using Element = std::function<Expr(std::span<const Expr> index)>;

  explicit Region(const Graph& body);

  const Graph& body() const { return body_; }
  ExprPool& pool() const { return body_.pool(); }

  void bind(ValueId value, Element element) { bound_[value] = std::move(element); }

  /// Element of a tensor value in its compute dtype. `index` has one expression per dim.
  Expr element(ValueId value, std::span<const Expr> index);

  /// What output `number` stores at `index`: the element, cast to the storage dtype.
  Expr stored(size_t number, std::span<const Expr> index);

  /// The scatter of a node whose op updates its first input in place.
  Scatter scatter(NodeId node, std::span<const Expr> index);

  const std::vector<BufferParam>& buffers() const { return buffers_; }
  uint32_t input_buffer(size_t input, StatePlane plane = StatePlane::data) const;
  uint32_t output_buffer(size_t output) const { return output_buffers_[output]; }

  /// Row-major element offset of an index into a tensor of that type.
  static Expr offset(const TensorType& type, std::span<const Expr> index, ExprPool& pool);

 private:
  friend class NodeLowering;
  Expr element_if(Expr condition, ValueId value, std::span<const Expr> index, Expr otherwise);
  Expr load_input(size_t input, std::span<const Expr> index);

  const Graph& body_;
  std::vector<BufferParam> buffers_;
  std::vector<uint32_t> input_buffers_;
  std::vector<uint32_t> output_buffers_;
  std::map<ValueId, Element> bound_;
  std::map<std::vector<uint32_t>, Expr> memo_;
  Expr predicate_;  // the condition under which elements are wanted; none: always
};

}  // namespace ingot
