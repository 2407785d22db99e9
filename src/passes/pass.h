// passes/pass.h: what a pass is, and the one loop that runs them.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace ingot {

/// A node that no kernel can be made for, and why.
struct UnsupportedNode {
  std::string node;    // the model's name of it, or empty
  std::string op;      // the model's operator "Foo", or the core operator
  std::string domain;  // of the model's operator
  int64_t opset = 0;   // 0: not known
  std::string reason;
};

/// What passes see besides the graph, and where they leave remarks.
class PassContext {
 public:
  PassContext() = default;
  PassContext(const std::set<std::string, std::less<>>* disabled, std::vector<std::string>* notes,
              std::vector<UnsupportedNode>* unsupported)
      : disabled_(disabled), notes_(notes), unsupported_(unsupported) {}

  /// Whether the pass or rule of that name may run.
  bool is_enabled(std::string_view name) const {
    return disabled_ == nullptr || disabled_->find(name) == disabled_->end();
  }
  /// A line for the report, such as "3 transposes are left".
  void note(std::string text) const {
    if (notes_ != nullptr) notes_->push_back(std::move(text));
  }
  /// For legalize alone: the compilation ends with this and all other reasons.
  void refuse(UnsupportedNode node) const {
    if (unsupported_ != nullptr) unsupported_->push_back(std::move(node));
  }

 private:
  const std::set<std::string, std::less<>>* disabled_ = nullptr;
  std::vector<std::string>* notes_ = nullptr;
  std::vector<UnsupportedNode>* unsupported_ = nullptr;
};

/// One row of the pipeline. A pass never fails and never prints; the graph it leaves need not be
/// compact.
struct Pass {
  std::string_view name;
  void (*run)(Graph&, const PassContext&);
  std::string_view why_here;
  /// The names that it asks PassContext::is_enabled for, such as those of its rules; may be null.
  std::vector<std::string_view> (*parts)() = nullptr;
};

/// What one row did.
struct PassRecord {
  std::string name;
  double seconds = 0;
  size_t nodes = 0;  // afterwards
  bool skipped = false;
  std::vector<std::string> notes;
};

struct PassOptions {
  std::set<std::string, std::less<>> disabled;  // names of passes and of rules
#ifdef NDEBUG
  bool verify = false;  // after every row
#else
  bool verify = true;
#endif
  /// Called after every row that ran, with the compacted graph, such as for --dump-after.
  std::function<void(std::string_view pass, const Graph& graph)> after = {};
};

/// Runs rows in order, compacting after each. A pass that breaks the graph or changes the type of
/// an output is a CHECK failure. Errors: unsupported, with every reason that `legalize` found.
Result<std::vector<PassRecord>> run_passes(Graph& graph, std::span<const Pass> passes,
                                           const PassOptions& options = {});

/// The rows from an imported graph to one that code can be generated for. pipeline.cc is the list.
std::span<const Pass> pipeline();
/// The rows that each half of split_prepare takes afterwards.
std::span<const Pass> closing_pipeline();

/// Names of all rows, in order; and of what can be switched off: rows, then parts, each once.
std::vector<std::string_view> pass_names();
std::vector<std::string_view> switch_names();
/// Whether each name is one of those; `option` begins the message. Errors: invalid_argument that
/// says what there is.
Status check_pass_names(std::string_view option, const std::set<std::string, std::less<>>& names);
Status check_switch_names(std::string_view option, const std::set<std::string, std::less<>>& names);

/// All reasons in one message: nodes grouped by operator and reason, with counts and first names.
std::string to_text(std::span<const UnsupportedNode> nodes);

}  // namespace ingot
