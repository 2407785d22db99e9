// codegen/prepare_program.h: the program that turns a model's constants into what its kernels read,
// compiled for this machine and run in this process.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "base/result.h"
#include "codegen/jobs.h"
#include "codegen/program.h"
#include "codegen/toolchain.h"

namespace ingot {

/// Builds a preparation program as a library of its own and runs it once.
class PrepareProgram {
 public:
  PrepareProgram(const ProgramPlan& plan, const ObjectBuilder::Options& build)
      : plan_(plan), options_(build), build_(build) {}

  /// Adds what is to be compiled; the job that ends last links the library.
  /// Errors: io, resource_exhausted.
  Status add_jobs(Jobs& jobs);

  /// Runs the library, once the jobs are done. `outputs` are where the results go, in the order of
  /// the plan's outputs. Errors: toolchain, internal.
  Status run(std::span<const ConstantData> constants, std::span<std::byte* const> outputs) const;

 private:
  Status link();

  ProgramPlan plan_;  // a copy, whose constants lie elsewhere
  ObjectBuilder::Options options_;
  ObjectBuilder build_;
  std::vector<std::filesystem::path> objects_;
  std::atomic<size_t> missing_ = 0;  // units
};

}  // namespace ingot
