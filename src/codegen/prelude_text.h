// codegen/prelude_text.h: the prelude's headers as text, to be pasted in front of generated code.
#pragma once

#include <string_view>

namespace ingot {

/// The text of a header by its path below codegen/prelude, such as "gpu/gpu_math.h". CHECKs that
/// there is one.
std::string_view prelude_text(std::string_view path);

}  // namespace ingot
