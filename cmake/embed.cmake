# cmake/embed.cmake: writes a C++ file that holds the texts of other files. A script, run as
#   cmake -DOUT=prelude_text.cc -DROOT=folder "-DFILES=a.h;b/c.h" -P cmake/embed.cmake
# The file defines `std::string_view ingot::prelude_text(std::string_view path)`, which gives the
# text of a file by its path below ROOT.

set(entries "")
foreach(file IN LISTS FILES)
  file(READ "${ROOT}/${file}" text)
  # In pieces, because a string literal need not be longer than 64 KiB.
  set(literal "")
  string(LENGTH "${text}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 16000 piece)
    string(APPEND literal "R\"~~~(${piece})~~~\"\n")
    math(EXPR at "${at} + 16000")
  endwhile()
  string(APPEND entries "    {\"${file}\",\n${literal}},\n")
endforeach()

file(WRITE "${OUT}.new" "// Made by cmake/embed.cmake.
#include \"codegen/prelude_text.h\"

#include \"base/check.h\"

namespace ingot {
namespace {

struct File {
  std::string_view path;
  std::string_view text;
};

constexpr File kFiles[] = {
${entries}};

}  // namespace

std::string_view prelude_text(std::string_view path) {
  for (const File& file : kFiles) {
    if (file.path == path) return file.text;
  }
  CHECK(false, \"no prelude header \", path);
  return {};
}

}  // namespace ingot
")
file(RENAME "${OUT}.new" "${OUT}")
