# cmake/resources.cmake: puts files into a library as bytes.
#
# ingot_resources(TARGET name=path ...): adds to TARGET the assembly that includes each file and the
#   table that src/codegen/resources.h declares. Paths may be $<TARGET_FILE:...>: list their targets
#   behind DEPENDS.
function(ingot_resources target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FILES;DEPENDS")
  set(assembly ".section .rodata,\"a\"\n")
  set(declarations "")
  set(rows "")
  set(paths "")
  set(number 0)
  set(sorted ${arg_FILES})
  list(SORT sorted)
  foreach(entry IN LISTS sorted)
    string(REGEX MATCH "^([^=]+)=(.*)$" _ "${entry}")
    set(name "${CMAKE_MATCH_1}")
    set(path "${CMAKE_MATCH_2}")
    list(APPEND paths "${path}")
    string(APPEND assembly
      ".balign 16\n.globl ingot_resource_${number}\n.globl ingot_resource_${number}_end\n"
      ".hidden ingot_resource_${number}\n.hidden ingot_resource_${number}_end\n"
      "ingot_resource_${number}:\n.incbin \"${path}\"\ningot_resource_${number}_end:\n.byte 0\n")
    string(APPEND declarations
      "extern \"C\" const char ingot_resource_${number}[], ingot_resource_${number}_end[];\n")
    set(symbol "ingot_resource_${number}")
    string(APPEND rows
      "    {\"${name}\", {${symbol}, static_cast<size_t>(${symbol}_end - ${symbol})}},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  string(APPEND assembly ".section .note.GNU-stack,\"\",@progbits\n")
  set(base "${CMAKE_CURRENT_BINARY_DIR}/${target}_resources")
  file(GENERATE OUTPUT "${base}.S" CONTENT "${assembly}")
  file(GENERATE OUTPUT "${base}.cc" CONTENT
"// Made by cmake/resources.cmake.
#include \"codegen/resources.h\"

#include <array>

${declarations}
namespace ingot {
std::span<const Resource> resources() {
  static const std::array<Resource, ${number}> table = {{
${rows}  }};
  return table;
}
}  // namespace ingot
")
  add_custom_command(OUTPUT "${base}.o" DEPENDS "${base}.S" ${paths} ${arg_DEPENDS}
    COMMAND ${CMAKE_CXX_COMPILER} -c -o "${base}.o" "${base}.S" VERBATIM)
  set_source_files_properties("${base}.o" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_sources(${target} PRIVATE "${base}.cc" "${base}.o")
endfunction()
