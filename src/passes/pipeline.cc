// passes/pipeline.cc: the list of passes, in order.
#include <algorithm>
#include <array>
#include <iterator>

#include "base/text.h"
#include "passes/fuse.h"
#include "passes/passes.h"

namespace ingot {
namespace {

void simplify(Graph& graph, const PassContext& context) {
  fold_constants(graph, context);
  algebra(graph, context);
}

std::vector<std::string_view> simplify_parts() {
  auto names = fold_constants_parts();
  std::ranges::copy(algebra_parts(), std::back_inserter(names));
  return names;
}

constexpr std::array kPipeline = {
    Pass{"dead_code", dead_code, "first: nothing else should look at what no output needs"},
    Pass{"canonicalize", canonicalize,
         "early: the passes after it know one form of what exporters say in several",
         canonicalize_parts},
    Pass{"fold_constants", fold_constants,
         "before algebra: turns exporters' shape arithmetic into numbers", fold_constants_parts},
    Pass{"cse", cse, "before algebra and layout: some of their rules ask for the only reader"},
    Pass{"algebra", algebra, "after folding: most of its rules look for constants", algebra_parts},
    Pass{"layout", layout, "after algebra has removed what stands between two transposes",
         layout_parts},
    Pass{"fold_batch_norm", fold_batch_norm,
         "after layout: only then does the scale stand right behind the convolution",
         fold_batch_norm_parts},
    Pass{"simplify", simplify, "after layout and folding, which leave literals and empty chains",
         simplify_parts},
    Pass{"merge_equal", cse, "once more: layout made copies"},
    Pass{"copy_concats", copy_concats, "after all passes that move or merge concatenations"},
    Pass{"legalize", legalize,
         "after everything that can make an unsupported node vanish, before what fixes kernels"},
    Pass{"pack_weights", pack_weights,
         "after the weights' last change; expanded composites hold matrix products too",
         pack_weights_parts},
    Pass{"share_packed", cse, "packing gave each reader of a constant panels of its own"},
    Pass{"hoist", hoist,
         "after pack_weights: packed weights of bodies are prepared outside of them"},
};

constexpr std::array kClosing = {
    Pass{"fuse", fuse,
         "last, on each half of split_prepare: no region may mix what runs once with what runs "
         "always, and no rule looks into a closed region",
         fuse_parts},
};

void add_unless_there(std::vector<std::string_view>& names, std::string_view name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

Status check_names(std::string_view option, const std::set<std::string, std::less<>>& names,
                   std::string_view what, std::span<const std::string_view> known) {
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) != known.end()) continue;
    return invalid_argument(option, ": expected one of the ", what, " ", join(known, ", "),
                            ", got '", name, "'");
  }
  return ok();
}

}  // namespace

std::span<const Pass> pipeline() {
  return kPipeline;
}

std::span<const Pass> closing_pipeline() {
  return kClosing;
}

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const Pass& row : kPipeline) names.push_back(row.name);
  for (const Pass& row : kClosing) names.push_back(row.name);
  return names;
}

std::vector<std::string_view> switch_names() {
  std::vector<std::string_view> names = pass_names();
  for (const std::span<const Pass> rows : {pipeline(), closing_pipeline()}) {
    for (const Pass& row : rows) {
      if (row.parts == nullptr) continue;
      for (const std::string_view part : row.parts()) add_unless_there(names, part);
    }
  }
  return names;
}

Status check_pass_names(std::string_view option, const std::set<std::string, std::less<>>& names) {
  return check_names(option, names, "passes", pass_names());
}

Status check_switch_names(std::string_view option,
                          const std::set<std::string, std::less<>>& names) {
  return check_names(option, names, "passes and rules", switch_names());
}

}  // namespace ingot
