// base/error.cc: the error table and the text of an error.
#include "base/error.h"

namespace ingot {
namespace {

struct CodeRow {
  std::string_view name;
  int abi, exit, http, grpc;
};

constexpr CodeRow kCodes[] = {
#define INGOT_ERROR_CODE(enumerator, name, abi, exit, http, grpc) {name, abi, exit, http, grpc},
#include "base/error.def"
#undef INGOT_ERROR_CODE
};

const CodeRow& row(Code code) {
  return kCodes[static_cast<size_t>(code)];
}

}  // namespace

std::string_view to_text(Code code) {
  return row(code).name;
}
int abi_status(Code code) {
  return row(code).abi;
}
int exit_status(Code code) {
  return row(code).exit;
}
int http_status(Code code) {
  return row(code).http;
}
int grpc_status(Code code) {
  return row(code).grpc;
}

Code code_from_abi_status(int status) {
  for (size_t i = 0; i < std::size(kCodes); ++i) {
    if (kCodes[i].abi == status) return static_cast<Code>(i);
  }
  return Code::kInternal;
}

std::string to_text(const Error& error) {
  std::string out;
  for (const std::string& note : error.notes) out += note + ": ";
  return out + error.message;
}

}  // namespace ingot
