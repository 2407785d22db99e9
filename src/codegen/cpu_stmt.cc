// codegen/cpu_stmt.cc: statements of loop nests as C++ text.
#include <algorithm>
#include <limits>

#include "base/text.h"
#include "codegen/emit_cpu.h"

namespace ingot {
namespace {

std::string combine(ReduceKind kind, DType dtype, const std::string& a, const std::string& b) {
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::product: {
      const std::string_view op = kind == ReduceKind::sum ? " + " : " * ";
      const std::string text = concat(a, op, b);
      if (is_packed(dtype)) return concat("convert<", cpu_type(dtype), ">(", text, ")");
      return is_narrow_int(dtype) ? concat("decltype(", a, ")(", text, ")") : text;
    }
    case ReduceKind::min:
      return concat("min(", a, ", ", b, ")");
    case ReduceKind::max:
      return concat("max(", a, ", ", b, ")");
    case ReduceKind::any:
      return concat("mask_or(", a, ", ", b, ")");
    case ReduceKind::all:
      return concat("mask_and(", a, ", ", b, ")");
  }
  return {};
}

/// The neutral element of a reduction.
std::string neutral(ReduceKind kind, DType dtype) {
  const double inf = std::numeric_limits<double>::infinity();
  const int width = bits(dtype);
  const bool has_sign = is_signed(dtype);
  const int64_t lowest = has_sign ? -(int64_t{1} << (width - 2)) * 2 : 0;
  const int64_t highest = has_sign ? -(lowest + 1) : width == 64 ? -1 : (int64_t{1} << width) - 1;
  switch (kind) {
    case ReduceKind::sum:
      return cpu_literal(dtype, 0, 0);
    case ReduceKind::product:
      return cpu_literal(dtype, 1, 1);
    case ReduceKind::min:
      return cpu_literal(dtype, inf, highest);
    case ReduceKind::max:
      return cpu_literal(dtype, -inf, lowest);
    case ReduceKind::any:
      return "false";
    case ReduceKind::all:
      return "true";
  }
  return {};
}

std::string_view join_lanes(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum:
      return "reduce_add";
    case ReduceKind::product:
      return "reduce_mul";
    case ReduceKind::min:
      return "reduce_min";
    case ReduceKind::max:
      return "reduce_max";
    case ReduceKind::any:
      return "any";
    case ReduceKind::all:
      return "all";
  }
  return {};
}

}  // namespace

std::string CpuStmtWriter::name_var(VarId var, std::string_view prefix) {
  std::string name = exprs_.fresh(prefix);
  exprs_.name_var(var, name);
  return name;
}

std::string CpuStmtWriter::write_scalar(Expr e) {
  exprs_.begin_statement({e});
  return exprs_.write(e);
}

void CpuStmtWriter::block(const Block& statements) {
  const auto scope = exprs_.save();
  for (const Stmt& stmt : statements) {
    std::visit([&](const auto& s) { statement(s); }, stmt.is);
  }
  exprs_.restore(scope);
}

void CpuStmtWriter::statement(const Loop& loop) {
  const std::string var = name_var(loop.var, "i");
  const std::string extent = write_scalar(loop.extent);
  if (loop.mode != LoopMode::vector || exprs_.in_vector()) {
    out_.block(concat("for (i64 ", var, " = 0; ", var, " < ", extent, "; ++", var, ")"),
               [&] { block(loop.body); });
    return;
  }
  exprs_.lanes_loop(loop.var, var, loop.extent, extent, [&] { block(loop.body); });
}

void CpuStmtWriter::statement(const ReduceLoop& loop) {
  const std::string var = name_var(loop.var, "r");
  const std::string extent = write_scalar(loop.extent);
  const bool own_lanes = loop.mode == LoopMode::vector && !exprs_.in_vector();
  std::vector<std::string> names;
  std::vector<bool> in_lanes_of_outer;
  for (const Accumulator& a : loop.accumulators) {
    // Inside a vector loop every accumulator has lanes: a value that does not need them is rare.
    const bool lanes = own_lanes || exprs_.in_vector();
    names.push_back(exprs_.fresh(name(a.kind)));
    in_lanes_of_outer.push_back(lanes);
    const DType dtype = a.value.dtype();
    const std::string start = neutral(a.kind, dtype);
    if (lanes && dtype == DType::b8) {
      out_.line("vmask ", names.back(), " = splat<W>(i32(", start == "true" ? "-1" : "0", "));");
    } else if (lanes) {
      out_.line("v", cpu_register(dtype), " ", names.back(), " = splat<W>(", start, ");");
    } else {
      const std::string_view type =
          dtype == DType::b8 ? std::string_view("bool") : cpu_register(dtype);
      out_.line(type, " ", names.back(), " = ", start, ";");
    }
  }
  const auto gather = [&] {
    const auto scope = exprs_.save();
    block_without_scope(loop.body);
    for (size_t k = 0; k < loop.accumulators.size(); ++k) {
      accumulate(loop.accumulators[k], names[k], in_lanes_of_outer[k], own_lanes);
    }
    exprs_.restore(scope);
  };
  if (own_lanes) {
    exprs_.lanes_loop(loop.var, var, loop.extent, extent, gather);
  } else {
    out_.block(concat("for (i64 ", var, " = 0; ", var, " < ", extent, "; ++", var, ")"), gather);
  }
  for (size_t k = 0; k < loop.accumulators.size(); ++k) {
    const Accumulator& a = loop.accumulators[k];
    if (!own_lanes) {
      exprs_.name_local(a.local, names[k], in_lanes_of_outer[k]);
      continue;
    }
    const std::string joined = exprs_.fresh("joined");
    out_.line("const auto ", joined, " = ", join_lanes(a.kind), "(", names[k], ");");
    exprs_.name_local(a.local, joined, false);
  }
}

void CpuStmtWriter::accumulate(const Accumulator& a, const std::string& into, bool lanes,
                               bool own_lanes) {
  const DType dtype = a.value.dtype();
  // Because one rounding is as good as two, a sum of products uses fused multiply-add.
  const bool fuse = a.kind == ReduceKind::sum && a.value.kind() == ExprKind::mul &&
                    is_float(dtype) && (!own_lanes || exprs_.lanes().empty());
  if (fuse) {
    exprs_.begin_statement({a.value.operand(0), a.value.operand(1)});
    const auto part = [&](int k) {
      return lanes ? exprs_.write_lanes(a.value.operand(k)) : exprs_.write(a.value.operand(k));
    };
    const std::string x = part(0), y = part(1);
    out_.line(into, " = fma(", x, ", ", y, ", ", into, ");");
    return;
  }
  exprs_.begin_statement({a.value});
  std::string value = lanes ? exprs_.write_lanes(a.value) : exprs_.write(a.value);
  if (own_lanes && !exprs_.lanes().empty()) {
    const std::string valid = concat("first_lanes(", exprs_.lanes(), ")");
    if (a.kind == ReduceKind::any) {
      value = concat("mask_and(", value, ", ", valid, ")");
    } else if (a.kind == ReduceKind::all) {
      value = concat("mask_or(", value, ", mask_not(", valid, "))");
    } else {
      value = concat("select(", valid, ", ", value, ", splat<W>(", neutral(a.kind, dtype), "))");
    }
  }
  out_.line(into, " = ", combine(a.kind, dtype, into, value), ";");
}

void CpuStmtWriter::block_without_scope(const Block& statements) {
  for (const Stmt& stmt : statements) {
    std::visit([&](const auto& s) { statement(s); }, stmt.is);
  }
}

void CpuStmtWriter::statement(const Let& let) {
  exprs_.begin_statement({let.value});
  const bool vector = exprs_.is_vector(let.value);
  const std::string value = exprs_.write(let.value);
  const std::string name = exprs_.fresh("v");
  out_.line("const auto ", name, " = ", value, ";");
  exprs_.name_local(let.local, name, vector);
}

void CpuStmtWriter::statement(const Store& store) {
  exprs_.store(store.buffer, store.offset, store.value, store.predicate);
}

void CpuStmtWriter::statement(const Alloc& alloc) {
  const std::string name = exprs_.fresh("row");
  // Whole vectors, so that a partial access of one never reaches past the array's end.
  const int64_t most = std::max<int64_t>(range_of(alloc.elements).hi, 1);
  const int64_t elements = (most + kMostLanes - 1) / kMostLanes * kMostLanes;
  out_.line("alignas(64) ", cpu_type(alloc.dtype), " ", name, "[", elements, "];");
  exprs_.name_buffer(alloc.buffer, name, alloc.dtype);
}

void CpuStmtWriter::statement(const If& branch) {
  exprs_.begin_statement({branch.condition});
  const std::string condition = exprs_.write(branch.condition);
  out_.block(concat("if (", condition, ")"), [&] { block(branch.body); });
}

}  // namespace ingot
