// cli/output.cc: JSON files that are written, and what they may replace.
#include "cli/output.h"

#include <fstream>

#include "base/file.h"
#include "base/text.h"

namespace ingot::cli {

namespace fs = std::filesystem;

Status check_json_output(const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return ok();  // new, or what writing complains of
  std::ifstream file(path, std::ios::binary);
  char first = 0;
  if (!(file >> first) || first == '{' || first == '[') return ok();
  return invalid_argument(path, ": expected another name for what is written, this is a file of ",
                          "something else than JSON");
}

Status write_json(const std::string& path, const Json& json, int indent) {
  TRY_STATUS(check_json_output(path));
  return write_atomically(path,
                          json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n");
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code failed;
  if (fs::equivalent(a, b, failed)) return true;
  const fs::path one = fs::weakly_canonical(a, failed);
  return !failed && one == fs::weakly_canonical(b, failed) && !failed;
}

}  // namespace ingot::cli
