// codegen/process.h: runs another program and waits for it.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace ingot {

/// How a program ended.
struct ProcessResult {
  int exit_code = 0;   // 128 + signal if it was killed by one
  std::string output;  // stdout and stderr together, cut at 64 KiB
};

struct ProcessOptions {
  /// To run in, and for temporary files (TMPDIR); empty: the present one, and the system's.
  std::filesystem::path directory;
  const std::atomic<bool>* cancel = nullptr;  // when it turns true the program is ended
};

/// Runs `arguments[0]` (looked up in PATH) without a shell and without standard input.
/// Errors: toolchain if it cannot be started; cancelled.
Result<ProcessResult> run_process(const std::vector<std::string>& arguments,
                                  const ProcessOptions& options = {});

}  // namespace ingot
