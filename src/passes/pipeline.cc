// passes/pipeline.cc: the list of passes, in order.
#include "passes/fuse.h"
#include "passes/passes.h"

namespace ingot {
namespace {

void simplify(Graph& graph, const PassContext& context) {
  fold_constants(graph, context);
  algebra(graph, context);
}

constexpr std::array kPipeline = {
    Pass{"dead_code", dead_code, "first: nothing else should look at what no output needs"},
    Pass{"canonicalize", canonicalize,
         "early: the passes after it know one form of what exporters say in several"},
    Pass{"fold_constants", fold_constants,
         "before algebra: turns exporters' shape arithmetic into numbers"},
    Pass{"cse", cse, "before algebra and layout: some of their rules ask for the only reader"},
    Pass{"algebra", algebra, "after folding: most of its rules look for constants"},
    Pass{"layout", layout, "after algebra has removed what stands between two transposes"},
    Pass{"fold_batch_norm", fold_batch_norm,
         "after layout: only then does the scale stand right behind the convolution"},
    Pass{"simplify", simplify, "after layout and folding, which leave literals and empty chains"},
    Pass{"merge_equal", cse, "once more: layout made copies"},
    Pass{"legalize", legalize,
         "after everything that can make an unsupported node vanish, before what fixes kernels"},
    Pass{"pack_weights", pack_weights,
         "after the weights' last change; expanded composites hold matrix products too"},
};

constexpr std::array kClosing = {
    Pass{"fuse", fuse,
         "last, on each half of split_prepare: no region may mix what runs once with what runs "
         "always, and no rule looks into a closed region"},
};

}  // namespace

std::span<const Pass> pipeline() {
  return kPipeline;
}

std::span<const Pass> closing_pipeline() {
  return kClosing;
}

}  // namespace ingot
