// cli/doctor.cc: ingot doctor.
#include <unistd.h>

#include "base/text.h"
#include "base/threads.h"
#include "cli/command.h"
#include "codegen/toolchain.h"
#include "target/target.h"

namespace ingot::cli {
namespace {

/// A line of the report.
struct Finding {
  std::string what;
  bool good = true;
  std::string text;
};

Finding compiler(const std::string& command, bool needed) {
  auto found = find_toolchain(command);
  const std::string what = command.empty() ? "compiler" : concat("compiler ", command);
  if (!found) return {what, !needed, to_text(found.error())};
  std::string text = concat(found->command, " (", found->version, ")");
  // Measured: it crashes in its optimiser on the matrix product's tiles.
  const bool bad = found->family == Toolchain::Family::clang && found->major == 16;
  if (bad) text += ": clang 16 is known to crash on generated code; use another";
  return {what, !bad, text};
}

Finding cache() {
  const auto folder = cache_folder();
  if (folder.empty()) return {"cache", false, "no folder: set INGOT_CACHE_DIR or HOME"};
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed || ::access(folder.c_str(), W_OK) != 0) {
    return {"cache", false, concat(folder.string(), ": cannot be written; set INGOT_CACHE_DIR")};
  }
  return {"cache", true, folder.string()};
}

Result<int> run(bool json) {
  std::vector<Finding> findings = {compiler(requested_compiler(), true), cache()};
  findings.push_back(
      {"processor", true, concat(info(host_level()).name, ", ", available_cpus(), " processors")});
  Json all = Json::array();
  std::string text;
  bool good = true;
  for (const Finding& f : findings) {
    good &= f.good;
    all.push_back({{"what", f.what}, {"ok", f.good}, {"text", f.text}});
    text += fmt::format("{:<12} {:<4} {}\n", f.what, f.good ? "ok" : "BAD", f.text);
  }
  if (json) {
    print(Json{{"ok", good}, {"version", "0.1"}, {"findings", all}});
  } else {
    print(text);
  }
  return good ? 0 : exit_status(Code::kToolchain);
}

}  // namespace

Run setup_doctor(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "print the result as JSON");
  return [json] { return run(*json); };
}

}  // namespace ingot::cli
