// kernel/program.h: an expression as a list of steps, so that the interpreter can run it many
// times.
#pragma once

#include <memory>
#include <vector>

#include "kernel/expr.h"
#include "kernel/scalar.h"

namespace ingot {

/// Where a program finds its leaves.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual Scalar symbol(SymbolId id) = 0;
  virtual Scalar index(VarId var) = 0;
  virtual Scalar param(Expr param) = 0;
  virtual Scalar local(Expr local) = 0;
  virtual Scalar load(Expr load, int64_t offset) = 0;
  /// Gives the variable of a reduction its value for the next run of the body.
  virtual void bind(VarId var, int64_t value) = 0;
};

/// Steps in an order in which operands come before users.
class Program {
 public:
  explicit Program(Expr root);

  Scalar run(Surroundings& surroundings);

 private:
  struct Step {
    Expr expr;
    uint32_t operands[3];
    std::unique_ptr<Program> body;  // of a reduction
  };
  Scalar run_step(Step& step, Surroundings& surroundings);
  Scalar run_reduce(Step& step, Surroundings& surroundings);

  std::vector<Step> steps_;
  std::vector<Scalar> values_;
};

}  // namespace ingot
