// codegen/program_writer.h: a planned program as the tables and functions of artifact/program.h.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codegen/dim_table.h"
#include "codegen/program.h"
#include "codegen/writer.h"

namespace ingot {

/// Writes a program, called `name`, and those of its control steps: `constexpr Program
/// NAME_program` and all that it refers to.
void write_program(Writer& out, const ProgramPlan& root, std::string_view name);

/// `name, count`, or `nullptr, 0`.
std::string table_text(const std::string& name, size_t count);

/// Declares the symbols that expressions mention, from the array `symbols`.
void declare_symbols(Writer& out, std::span<const Expr> exprs);

/// How much work each of a root's kernels has: NAME_work0, ...
void write_work(Writer& out, const ProgramPlan& root, std::string_view name);

/// The steps of a program of `root`, which is called `root_name`: NAME_steps, and the functions
/// around routines and control steps. `dims` are the program's.
void write_steps(Writer& out, const ProgramPlan& plan, std::string_view name, DimTable& dims,
                 const ProgramPlan& root, std::string_view root_name);

/// What the program of a control step is called.
std::string body_name(std::string_view root_name, size_t number);

}  // namespace ingot
