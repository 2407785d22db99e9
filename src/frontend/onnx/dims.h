// frontend/onnx/dims.h: the dims that a model declares, as expressions, under the caller's options.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "frontend/import.h"
#include "frontend/onnx/wire.h"

namespace ingot::onnx {

/// Gives each declared dim its expression: a number, a symbol shared by name, or a small formula of
/// symbols ("past + sequence"). Pins and ranges come from the options.
class DimTable {
 public:
  DimTable(ExprPool& pool, const ImportOptions& options) : pool_(pool), options_(options) {}

  /// Learns what options.shapes says about the input's named dims. Errors: invalid_argument if it
  /// contradicts the model or another input.
  Status pin_from_shape(const ValueInfoProto& input);

  /// The dims of a graph input. Errors: as above; invalid_model for dims beyond the limits.
  Result<Exprs> input_dims(const ValueInfoProto& input);

  /// Every name in options.dims has occurred. Errors: invalid_argument naming those that have not.
  Status check_all_used() const;

 private:
  Result<Expr> named(std::string_view param);
  Result<Expr> symbol(std::string_view name);

  ExprPool& pool_;
  const ImportOptions& options_;
  std::map<std::string, std::pair<int64_t, std::string>, std::less<>> pins_;  // value, who said so
  std::set<std::string, std::less<>> seen_;
};

}  // namespace ingot::onnx
