// codegen/resources.h: files that travel inside the compiler: the prelude, the artefact's runtime.
#pragma once

#include <span>
#include <string_view>

namespace ingot {

struct Resource {
  std::string_view name;  // "prelude/cpu/gemm.h", "artifact/program.h", "libingot_artifact.a"
  std::string_view bytes;
};

/// Everything there is, sorted by name.
std::span<const Resource> resources();

/// The bytes of one. CHECKs that it exists.
std::string_view resource(std::string_view name);

}  // namespace ingot
