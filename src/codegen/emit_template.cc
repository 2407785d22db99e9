// codegen/emit_template.cc: calls of the prelude's gemm and conv with generated epilogues.
#include "codegen/emit_template.h"

#include "base/check.h"
#include "base/text.h"
#include "codegen/emit_cpu.h"
#include "codegen/schedule.h"
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/reshape.h"
#include "ops/transpose.h"

namespace ingot {
namespace {

/// Rows of one work unit: a multiple of 6 and 12, so that tiles are full, and about 10 us of work
/// for K = 256.
constexpr int64_t kRowBlock = 96;
/// Throughput that work is estimated with, in GFLOP/s: two thirds of a usual core.
constexpr int64_t kGflops = 80;

/// `Lit<5>{}` for a constant, else the expression.
std::string size_text(Expr dim) {
  if (const auto constant = dim.as_int()) return concat("Lit<", *constant, ">{}");
  return concat("i64(", cpu_dim(dim), ")");
}

Expr product(ExprPool& pool, std::span<const Expr> dims) {
  return element_count(pool, dims);
}

/// The index of every value behind the template, from the template's own output to the root.
struct Chain {
  ValueId root;
  Exprs index;
};

Exprs delinearize(ExprPool& pool, Expr flat, std::span<const Expr> dims) {
  Exprs index(dims.size());
  Expr rest = flat;
  for (size_t k = dims.size(); k-- > 0;) {
    index[k] = k == 0 ? rest : floormod(rest, dims[k]);
    if (k > 0) rest = floordiv(rest, dims[k]);
  }
  for (size_t k = 0; k < dims.size(); ++k) {
    if (dims[k].is_int(1)) index[k] = pool.integer(0);
  }
  return index;
}

/// Follows the region from the template's output, where it is `index`, to its root.
Chain follow(const Graph& body, ValueId from, Exprs index) {
  ExprPool& pool = body.pool();
  ValueId at = from;
  while (!body.is_graph_output(at)) {
    CHECK(body.value(at).uses.size() == 1, "an epilogue is a chain");
    const Node& user = body.node(body.value(at).uses[0].node);
    const ValueId next = user.outputs[0];
    if (const auto* transpose = user.op.as<ops::Transpose>()) {
      Exprs permuted;
      for (int64_t axis : transpose->order) permuted.push_back(index[static_cast<size_t>(axis)]);
      index = std::move(permuted);
    } else if (user.op.is<ops::Reshape>()) {
      const Expr flat = Region::offset(body.tensor(at), index, pool);
      index = delinearize(pool, flat, body.tensor(next).dims);
    }
    at = next;
  }
  return {at, std::move(index)};
}

/// What all templates share: the function around, its buffers, symbols and epilogue.
class TemplateWriter {
 public:
  TemplateWriter(const Graph& body, NodeId node, BufferNames names)
      : body_(body),
        node_(body.node(node)),
        region_(body),
        pool_(body.pool()),
        exprs_(out_, body.pool()),
        names_(names) {}

  EmittedKernel matmul(std::string_view name);
  EmittedKernel conv(std::string_view name);

 private:
  std::string function_head(std::string_view name) {
    return concat("void ", name, "([[maybe_unused]] const KernelArgs& args, i64 begin, i64 end)");
  }

  void declare_buffers() {
    const auto& buffers = region_.buffers();
    for (uint32_t k = 0; k < buffers.size(); ++k) {
      const std::string base =
          names_ == BufferNames::neutral ? std::string("x") : to_identifier(buffers[k].name);
      const std::string name = concat(base, "_", k);
      exprs_.name_buffer(k, name, buffers[k].dtype);
      const std::string_view constness = buffers[k].written ? "" : "const ";
      out_.line("[[maybe_unused]] auto* ", name, " = operand<", constness,
                cpu_type(buffers[k].dtype), ">(args, ", k, ");");
    }
  }

  void declare_symbols(std::span<const Expr> exprs) {
    std::set<uint32_t> symbols;
    for (const Expr& e : exprs) symbols.merge(symbols_of(e));
    for (uint32_t id : symbols) {
      const Expr symbol = pool_.symbol(pool_.symbol_info(SymbolId(id)).name);
      out_.line("[[maybe_unused]] const i64 ", cpu_dim(symbol), " = args.symbols[", id, "];");
    }
  }

  /// All expressions whose symbols the kernel may mention.
  Exprs dims_of_region() {
    Exprs dims;
    for (const NodeId id : body_.nodes()) {
      for (ValueId value : body_.node(id).outputs) {
        if (body_.type(value).is_tensor()) {
          const Exprs& more = body_.tensor(value).dims;
          dims.insert(dims.end(), more.begin(), more.end());
        }
      }
    }
    for (const GraphInput& input : body_.inputs()) {
      if (!body_.type(input.value).is_tensor()) continue;
      const Exprs& more = body_.tensor(input.value).dims;
      dims.insert(dims.end(), more.begin(), more.end());
    }
    return dims;
  }

  /// `const auto epilogue = [&](i64 m, i64 n, vf32 acc, i64 count) {...};` for the output's `index`
  /// in terms of m and n.
  void write_epilogue(Exprs index, Expr n) {
    const ValueId y = node_.outputs[0];
    const Expr acc = pool_.param(0, DType::f32);
    const ValueId bias = node_.inputs.size() > 2 ? node_.inputs[2] : ValueId();
    region_.bind(y, [this, acc, bias](std::span<const Expr> at) {
      return bias.valid() ? acc + region_.element(bias, at.last(1)) : acc;
    });
    const Chain chain = follow(body_, y, std::move(index));
    exprs_.name_param(0, "acc", true);
    exprs_.name_var(n.var(), "n");
    out_.block(
        "const auto epilogue = [&](i64 m, i64 n, vf32 acc, i64 count) INGOT_LAMBDA",
        [&] {
          out_.line("(void)m, (void)n;");
          exprs_.enter_vector(n.var(), "count");
          const TensorType& type = body_.tensor(chain.root);
          exprs_.store(region_.output_buffer(0), Region::offset(type, chain.index, pool_),
                       region_.stored(0, chain.index), Expr{});
          exprs_.leave_vector();
        },
        ";");
  }

  const std::string& input_name(size_t slot) {
    const uint32_t port = body_.value(node_.inputs[slot]).port;
    return exprs_.buffer_name(region_.input_buffer(port));
  }

  const Graph& body_;
  const Node& node_;
  Region region_;
  ExprPool& pool_;
  Writer out_;
  CpuExprWriter exprs_;
  BufferNames names_;
};

EmittedKernel TemplateWriter::matmul(std::string_view name) {
  const TensorType& a = body_.tensor(node_.inputs[0]);
  const TensorType& b = body_.tensor(node_.inputs[1]);
  const TensorType& y = body_.tensor(node_.outputs[0]);
  const Expr k_size = a.dims.back();
  const Expr n_size = y.dims.back();
  const Expr panels = b.dims[b.dims.size() - 3];
  const Expr width = b.dims.back();
  // Without a batch in b all rows form one matrix.
  const bool batched =
      element_count(pool_, std::span(b.dims).first(b.dims.size() - 3)) != pool_.integer(1);
  const size_t batch_rank = batched ? y.dims.size() - 2 : 0;
  const std::span<const Expr> batch_dims = std::span(y.dims).first(batch_rank);
  const std::span<const Expr> row_dims =
      std::span(y.dims).subspan(batch_rank, y.dims.size() - 1 - batch_rank);
  const Expr rows = product(pool_, row_dims);
  const Expr batches = product(pool_, batch_dims);
  const Expr blocks = ceildiv(rows, kRowBlock);

  const Expr batch = pool_.fresh_index(batches);
  const Expr m = pool_.fresh_index(rows);
  const Expr n = pool_.fresh_index(n_size);
  exprs_.name_var(batch.var(), "batch");
  exprs_.name_var(m.var(), "m");

  Exprs index = delinearize(pool_, batch, batch_dims);
  const Exprs row_index = delinearize(pool_, m, row_dims);
  index.insert(index.end(), row_index.begin(), row_index.end());
  index.push_back(n);

  // Element offset of a batch in an operand whose batch dims may be 1 or missing.
  const auto batch_offset = [&](const TensorType& type, size_t matrix_rank) {
    const Exprs at = delinearize(pool_, batch, batch_dims);
    Expr offset = pool_.integer(0);
    const size_t own = type.dims.size() - matrix_rank;
    for (size_t axis = 0; axis < own; ++axis) {
      const Expr i = type.dims[axis].is_int(1) ? pool_.integer(0) : at[batch_rank - own + axis];
      offset = offset * type.dims[axis] + i;
    }
    return offset * product(pool_, std::span(type.dims).last(matrix_rank));
  };

  out_.block(function_head(name), [&] {
    declare_buffers();
    declare_symbols(dims_of_region());
    out_.line("const i64 rows = ", cpu_dim(rows), ";");
    out_.line("const i64 blocks = (rows + ", kRowBlock - 1, ") / ", kRowBlock, ";");
    const auto body = [&] {
      write_epilogue(index, n);
      std::string a_text = input_name(0), b_text = input_name(1);
      if (batched) {
        const Expr a_offset = batch_offset(a, 2), b_offset = batch_offset(b, 3);
        exprs_.begin_statement({a_offset, b_offset});
        a_text = concat(a_text, " + ", exprs_.write(a_offset));
        b_text = concat(b_text, " + ", exprs_.write(b_offset));
      }
      out_.line("const i64 first = unit % blocks;");
      out_.line("const i64 count = min(blocks - first, end - begin);");
      out_.line("const i64 m_end = min(rows, (first + count) * ", kRowBlock, ");");
      out_.line("gemm(first * ", kRowBlock, ", m_end, panel, panel + 1, ", size_text(k_size), ", ",
                size_text(n_size), ",");
      out_.line("     ", a_text, ", ", size_text(k_size), ", ", b_text, ", epilogue);");
      out_.line("begin += count;");
    };
    out_.block("while (begin < end)", [&] {
      if (batched) {
        out_.line("[[maybe_unused]] const i64 batch = begin / (blocks * ", cpu_dim(panels), ");");
        out_.line("const i64 unit = begin % (blocks * ", cpu_dim(panels), ");");
      } else {
        out_.line("const i64 unit = begin;");
      }
      out_.line("const i64 panel = unit / blocks;");
      body();
    });
  });

  EmittedKernel kernel;
  kernel.text = out_.take();
  kernel.units = batches * panels * blocks;
  kernel.unit_ns = max(floordiv(k_size * width * (2 * kRowBlock), kGflops), pool_.integer(1));
  kernel.scratch_bytes = pool_.integer(0);
  return kernel;
}

EmittedKernel TemplateWriter::conv(std::string_view name) {
  const auto& op = *node_.op.as<ops::Conv>();
  const TensorType& x = body_.tensor(node_.inputs[0]);
  const TensorType& w = body_.tensor(node_.inputs[1]);
  const TensorType& y = body_.tensor(node_.outputs[0]);
  const size_t spatial = op.strides.size();
  // One spatial dim is a picture of height 1.
  const auto of = [&](const std::vector<int64_t>& values, size_t axis, int64_t missing) {
    return spatial == 2 ? values[axis] : axis == 1 ? values[0] : missing;
  };
  const Expr one = pool_.integer(1);
  const Expr height = spatial == 2 ? x.dims[1] : one, width = x.dims[spatial];
  const Expr out_height = spatial == 2 ? y.dims[1] : one, out_width = y.dims[spatial];
  const Expr kernel_height = spatial == 2 ? w.dims[1] : one, kernel_width = w.dims[spatial];
  const Expr channels = x.dims.back(), n_size = y.dims.back();
  const Expr pixels = product(pool_, std::span(y.dims).first(y.dims.size() - 1));
  const Expr panels = w.dims.front(), panel_width = w.dims.back();
  const Expr blocks = ceildiv(pixels, kRowBlock);

  const Expr m = pool_.fresh_index(pixels);
  const Expr n = pool_.fresh_index(n_size);
  exprs_.name_var(m.var(), "m");
  Exprs index = delinearize(pool_, m, std::span(y.dims).first(y.dims.size() - 1));
  index.push_back(n);

  out_.block(function_head(name), [&] {
    declare_buffers();
    declare_symbols(dims_of_region());
    const auto field = [&](std::string_view what, Expr value) {
      out_.line("shape.", what, " = ", cpu_dim(value), ";");
    };
    const auto number = [&](std::string_view what, int64_t value) {
      out_.line("shape.", what, " = ", value, ";");
    };
    out_.line("ConvShape shape;");
    field("h", height);
    field("w", width);
    field("c", channels);
    field("oh", out_height);
    field("ow", out_width);
    field("kh", kernel_height);
    field("kw", kernel_width);
    number("stride_h", of(op.strides, 0, 1));
    number("stride_w", of(op.strides, 1, 1));
    number("dilation_h", of(op.dilations, 0, 1));
    number("dilation_w", of(op.dilations, 1, 1));
    number("pad_top", of(op.pads_begin, 0, 0));
    number("pad_left", of(op.pads_begin, 1, 0));
    field("x_batch_stride", height * width * channels);
    field("x_row_stride", width * channels);
    field("x_pixel_stride", channels);
    write_epilogue(index, n);
    out_.line("const i64 pixels = ", cpu_dim(pixels), ";");
    out_.line("const i64 blocks = (pixels + ", kRowBlock - 1, ") / ", kRowBlock, ";");
    out_.block("while (begin < end)", [&] {
      out_.line("const i64 panel = begin / blocks, first = begin % blocks;");
      out_.line("const i64 count = min(blocks - first, end - begin);");
      out_.line("const i64 m_end = min(pixels, (first + count) * ", kRowBlock, ");");
      out_.line("conv2d(shape, first * ", kRowBlock, ", m_end, panel, panel + 1, ",
                size_text(n_size), ",");
      out_.line("       ", input_name(0), ", ", input_name(1), ", epilogue);");
      out_.line("begin += count;");
    });
  });

  EmittedKernel kernel;
  kernel.text = out_.take();
  kernel.units = panels * blocks;
  const Expr terms = kernel_height * kernel_width * channels;
  kernel.unit_ns = max(floordiv(terms * panel_width * (2 * kRowBlock), kGflops), one);
  kernel.scratch_bytes = pool_.integer(0);
  return kernel;
}

}  // namespace

NodeId find_template(const Graph& body) {
  for (NodeId id : body.nodes()) {
    const Node& node = body.node(id);
    const auto* matmul = node.op.as<ops::MatMul>();
    const auto* conv = node.op.as<ops::Conv>();
    const bool packed_matmul = matmul != nullptr && matmul->packed;
    const bool packed_conv = conv != nullptr && conv->packed && conv->groups == 1 &&
                             (conv->strides.size() == 1 || conv->strides.size() == 2);
    if (!packed_matmul && !packed_conv) continue;
    const auto is_f32_input = [&](ValueId value) {
      return !body.value(value).producer.valid() && body.tensor(value).dtype == DType::f32;
    };
    if (is_f32_input(node.inputs[0]) && is_f32_input(node.inputs[1])) return id;
  }
  return NodeId();
}

EmittedKernel emit_template(const Graph& body, std::string_view name, BufferNames names) {
  const NodeId node = find_template(body);
  CHECK(node.valid(), "the region has a template");
  TemplateWriter writer(body, node, names);
  return body.node(node).op.is<ops::MatMul>() ? writer.matmul(name) : writer.conv(name);
}

EmittedKernel emit_loops(const Graph& body, std::string_view name, BufferNames names) {
  Region region(body);
  Kernel kernel = schedule(region, std::string(name), {});
  if (names == BufferNames::neutral) {
    for (BufferParam& buffer : kernel.buffers) buffer.name = "x";
  }
  EmittedKernel result;
  result.text = emit_cpu(kernel);
  result.units = unit_count(kernel);
  result.unit_ns = estimate_unit_ns(kernel);
  result.scratch_bytes = kernel.pool->integer(0);
  return result;
}

}  // namespace ingot
