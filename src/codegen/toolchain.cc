// codegen/toolchain.cc: runs g++ or clang++; objects are cached by their content.
#include "codegen/toolchain.h"

#include <array>
#include <cstring>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "codegen/process.h"
#include "codegen/resources.h"
#include "codegen/weights_file.h"

namespace ingot {
namespace {

/// Lines of a compiler's complaint that go into an error message.
constexpr size_t kMostLines = 12;
/// What a cached object begins with; the number grows with the format.
constexpr std::string_view kCacheMagic = "INGOTOBJ1\n";
constexpr size_t kHashText = 32;

std::string first_lines(std::string_view text) {
  std::string result;
  size_t count = 0;
  for (std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    if (++count > kMostLines) break;
    result += concat("\n  ", line);
  }
  return result;
}

/// "g++ (Debian 12.2.0-14) 12.2.0" -> 12.2.0: the last word of the first line that begins with a
/// digit, or the one behind "version".
std::string version_number(std::string_view output) {
  const std::string_view line = split(output, '\n')[0];
  std::string found;
  for (std::string_view word : split(line, ' ')) {
    if (!word.empty() && word[0] >= '0' && word[0] <= '9' &&
        word.find('.') != std::string_view::npos) {
      found = word;
    }
  }
  return found;
}

Result<Toolchain> ask(const std::string& command) {
  TRY(const ProcessResult result, run_process({command, "--version"}));
  if (result.exit_code != 0) {
    return toolchain_error(command, ": --version ended with ", result.exit_code,
                           first_lines(result.output));
  }
  Toolchain found;
  found.command = command;
  const bool is_clang = result.output.find("clang") != std::string::npos;
  const bool is_gnu = result.output.find("Free Software Foundation") != std::string::npos;
  if (!is_clang && !is_gnu) {
    return toolchain_error(command, ": expected g++ or clang++, got '",
                           split(result.output, '\n')[0], "'");
  }
  found.family = is_clang ? Toolchain::Family::clang : Toolchain::Family::gnu;
  const std::string number = version_number(result.output);
  found.version = concat(is_clang ? "clang++ " : "g++ ", number);
  found.major = static_cast<int>(parse_int(split(number, '.')[0]).value_or(0));
  const int least = is_clang ? 14 : 12;
  if (found.major < least) {
    return toolchain_error(command, ": expected ", is_clang ? "clang++" : "g++", " ", least,
                           " or newer, got ", found.version);
  }
  return found;
}

}  // namespace

Result<Toolchain> find_toolchain(const std::string& requested) {
  if (!requested.empty()) return ask(requested);
  std::string tried;
  for (const char* command : {"g++", "clang++", "c++"}) {
    auto found = ask(command);
    if (found) return found;
    tried += concat("\n  ", to_text(found.error()));
  }
  return toolchain_error(
      "no C++ compiler: expected g++ 12 or clang++ 14 or newer; install one "
      "(Debian: apt install g++) or name it in INGOT_CXX",
      tried);
}

std::vector<std::string> ObjectBuilder::flags(const Toolchain& toolchain, CpuLevel level,
                                              Effort effort) {
  std::vector<std::string> flags = {"-std=c++20",
                                    effort == Effort::full ? "-O2" : "-O1",
                                    "-fPIC",
                                    "-fvisibility=hidden",
                                    "-fno-exceptions",
                                    "-fno-rtti",
                                    "-ffunction-sections",
                                    "-fno-asynchronous-unwind-tables",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
                                    "-fno-plt",
                                    "-ffp-contract=off",
                                    "-fwrapv",
                                    "-Wall",
                                    "-Wextra",
                                    concat("-march=", info(level).march)};
  if (!info(level).extra_flags.empty()) flags.emplace_back(info(level).extra_flags);
  if (toolchain.family == Toolchain::Family::gnu) {
    // Because what is vectorised is written in vectors already, the vectoriser only costs time.
    flags.emplace_back("-fno-tree-vectorize");
  }
  return flags;
}

Status ObjectBuilder::run(const std::vector<std::string>& arguments, std::string_view doing) const {
  TRY(const ProcessResult result, run_process(arguments, {options_.directory, options_.cancel}));
  if (result.exit_code == 0) return ok();
  if (options_.cancel != nullptr && options_.cancel->load()) {
    return cancelled(doing, ": interrupted");
  }
  for (const std::string_view full :
       {"No space left on device", "Disk quota exceeded", "File too large"}) {
    if (result.output.find(full) != std::string::npos) {
      return resource_exhausted(doing, ": the disk or a limit of file sizes is full",
                                first_lines(result.output));
    }
  }
  return toolchain_error(doing, ": ", options_.toolchain.version, " ended with ", result.exit_code,
                         first_lines(result.output));
}

Status ObjectBuilder::check_made(const std::filesystem::path& output,
                                 std::string_view doing) const {
  std::error_code failed;
  const auto size = std::filesystem::file_size(output, failed);
  if (!failed && size > 0) return ok();
  return toolchain_error(doing, ": ", options_.toolchain.command,
                         " ended as if all were well but wrote nothing");
}

Result<std::filesystem::path> ObjectBuilder::compile(const SourceFile& source, CpuLevel level,
                                                     Effort effort) const {
  std::vector<std::string> options = flags(options_.toolchain, level, effort);
  if (options_.strict) options.emplace_back("-Werror");
  const std::string stem = concat(source.name, ".", info(level).prelude_namespace);
  const auto object = options_.directory / concat(stem, ".o");

  Hasher hasher;
  hasher.add_field(options_.toolchain.command);
  hasher.add_field(options_.toolchain.version);
  hasher.add_field(join(options, " "));
  hasher.add_field(source.text);
  const auto cached = options_.cache / concat(to_text(hasher.finish()), ".o");
  if (!options_.cache.empty()) {
    if (auto file = MappedFile::open(cached)) {
      const std::string_view text = file->text();
      const size_t head = kCacheMagic.size() + kHashText;
      // A damaged entry is as good as none: the object is made again and replaces it.
      if (text.size() > head && text.starts_with(kCacheMagic) &&
          text.substr(kCacheMagic.size(), kHashText) == to_text(hash_text(text.substr(head)))) {
        TRY_STATUS(write_atomically(object, text.substr(head)));
        return object;
      }
    }
  }

  const auto path = options_.directory / source.name;
  TRY_STATUS(write_atomically(path, source.text));
  std::vector<std::string> arguments = {options_.toolchain.command};
  arguments.insert(arguments.end(), options.begin(), options.end());
  for (const std::string& more :
       {std::string("-c"), source.name, std::string("-o"), concat(stem, ".o")}) {
    arguments.push_back(more);
  }
  TRY_STATUS(run(arguments, concat("compiling ", source.name)));
  TRY_STATUS(check_made(object, concat("compiling ", source.name)));

  if (!options_.cache.empty()) {
    TRY(const MappedFile made, MappedFile::open(object));
    const std::string entry = concat(kCacheMagic, to_text(hash_text(made.text())), made.text());
    // A cache that cannot be written costs time, nothing else.
    std::error_code ignored;
    std::filesystem::create_directories(options_.cache, ignored);
    (void)static_cast<bool>(write_atomically(cached, entry));
  }
  return object;
}

Status ObjectBuilder::add_tiles(const std::vector<CpuLevel>& levels,
                                std::vector<std::filesystem::path>& objects) const {
  for (CpuLevel level : levels) {
    const std::string name = concat("tiles_", info(level).prelude_namespace, ".o");
    TRY_STATUS(write_atomically(options_.directory / name, resource(name)));
    objects.push_back(options_.directory / name);
  }
  return ok();
}

Result<std::filesystem::path> ObjectBuilder::compile_c(const SourceFile& source) const {
  std::error_code failed;
  std::filesystem::create_directories(options_.directory / "include/ingot", failed);
  TRY_STATUS(write_atomically(options_.directory / "include/ingot/custom.h",
                              resource("include/ingot/custom.h")));
  TRY_STATUS(write_atomically(options_.directory / source.name, source.text));
  const std::string object = concat(source.name, ".o");
  TRY_STATUS(run({options_.toolchain.command, "-x", "c", "-std=gnu11", "-O2", "-fPIC",
                  "-fvisibility=hidden", "-Iinclude", "-c", source.name, "-o", object},
                 concat("compiling ", source.name)));
  return options_.directory / object;
}

Result<std::filesystem::path> ObjectBuilder::weights(const Hash128& hash,
                                                     const std::filesystem::path& embedded) const {
  TRY_STATUS(write_atomically(options_.directory / "weights.s",
                              weights_assembly(hash, embedded.string())));
  TRY_STATUS(run({options_.toolchain.command, "-c", "weights.s", "-o", "weights.o"},
                 "embedding the weights"));
  return options_.directory / "weights.o";
}

Result<std::filesystem::path> ObjectBuilder::runtime() const {
  const auto path = options_.directory / "libingot_artifact.a";
  if (!std::filesystem::exists(path)) {
    TRY_STATUS(write_atomically(path, resource("libingot_artifact.a")));
  }
  return path;
}

Status ObjectBuilder::link(const std::vector<std::filesystem::path>& objects,
                           const std::filesystem::path& output) const {
  TRY(const std::filesystem::path archive, runtime());
  std::vector<std::string> arguments = {options_.toolchain.command,
                                        "-shared",
                                        "-nostdlib",
                                        "-Wl,--gc-sections",
                                        "-Wl,-Bsymbolic",
                                        "-Wl,--build-id=none",
                                        "-Wl,-z,now",
                                        "-Wl,-z,relro",
                                        "-Wl,-z,noexecstack",
                                        "-Wl,-z,defs",
                                        "-s",
                                        "-o",
                                        output.string()};
  for (const auto& object : objects) arguments.push_back(object.string());
  // The entry point is what pulls the runtime out of its archive.
  for (const std::string& more :
       {std::string("-Wl,-u,ingot_model_v1"), archive.string(), std::string("-lm"),
        std::string("-lpthread"), std::string("-lc"), std::string("-lgcc")}) {
    arguments.push_back(more);
  }
  TRY_STATUS(run(arguments, "linking"));
  return check_made(output, "linking");
}

Status ObjectBuilder::archive(const std::vector<std::filesystem::path>& objects,
                              const std::string& entry, const std::filesystem::path& output) const {
  TRY(const std::filesystem::path archive, runtime());
  std::vector<std::string> arguments = {
      options_.toolchain.command, "-r", "-nostdlib",
      // Two archives in one program: no group of one may stand for the other's.
      "-Wl,--force-group-allocation", "-o", "model.o"};
  for (const auto& object : objects) arguments.push_back(object.string());
  for (const std::string& more : {std::string("-Wl,--whole-archive"), archive.string()}) {
    arguments.push_back(more);
  }
  TRY_STATUS(run(arguments, "joining objects"));
  TRY_STATUS(
      run({"objcopy", "--keep-global-symbol=ingot_model_v1", concat("--keep-global-symbol=", entry),
           concat("--redefine-sym=ingot_model_v1=", entry), "model.o"},
          "naming the entry"));
  std::error_code ignored;
  std::filesystem::remove(output, ignored);
  return run({"ar", "rcsD", output.string(), "model.o"}, "making the static library");
}

}  // namespace ingot
