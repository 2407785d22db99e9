// tests/gpu/nvrtc_compile.cc: a program that compiles CUDA text to a cubin with NVRTC.
//
//   nvrtc_compile LIBNVRTC SOURCE ARCH OUTPUT
//
// NVRTC is opened at run time, so that nothing needs CUDA to be built. Its log, with the resources
// of every kernel, goes to stderr. Exit status: 0, 1 if the text does not compile, 2 if NVRTC
// cannot be used.
#include <dlfcn.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

// nvrtc.h, as far as it is used here.
using Program = struct ProgramTag*;
using Status = int;  // 0: success

struct Nvrtc {
  Status (*create)(Program*, const char* source, const char* name, int headers,
                   const char* const* header_texts, const char* const* header_names) = nullptr;
  Status (*compile)(Program, int options, const char* const* option_texts) = nullptr;
  Status (*log_size)(Program, size_t*) = nullptr;
  Status (*log)(Program, char*) = nullptr;
  Status (*cubin_size)(Program, size_t*) = nullptr;
  Status (*cubin)(Program, char*) = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) std::fprintf(stderr, "nvrtc_compile: no function %s\n", name);
  return function != nullptr;
}

bool open(const char* path, Nvrtc& nvrtc) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "nvrtc_compile: %s\n", dlerror());
    return false;
  }
  return find(library, "nvrtcCreateProgram", nvrtc.create) &&
         find(library, "nvrtcCompileProgram", nvrtc.compile) &&
         find(library, "nvrtcGetProgramLogSize", nvrtc.log_size) &&
         find(library, "nvrtcGetProgramLog", nvrtc.log) &&
         find(library, "nvrtcGetCUBINSize", nvrtc.cubin_size) &&
         find(library, "nvrtcGetCUBIN", nvrtc.cubin);
}

std::string log_of(const Nvrtc& nvrtc, Program program) {
  size_t bytes = 0;
  nvrtc.log_size(program, &bytes);
  std::string log(bytes, '\0');
  if (bytes > 0) nvrtc.log(program, log.data());
  return log.c_str();
}

}  // namespace

int main(int argc, char** argv) {
  Nvrtc nvrtc;
  if (argc != 5 || !open(argv[1], nvrtc)) return 2;
  std::ifstream file(argv[2]);
  const std::string source((std::istreambuf_iterator<char>(file)), {});
  const std::string arch = std::string("-arch=") + argv[3];
  // -v makes the assembler tell registers, stack and spills of every kernel.
  const std::vector<const char*> options = {arch.c_str(), "-std=c++17", "--ptxas-options=-v"};
  Program program = nullptr;
  if (nvrtc.create(&program, source.c_str(), argv[2], 0, nullptr, nullptr) != 0) return 2;
  const Status status = nvrtc.compile(program, static_cast<int>(options.size()), options.data());
  std::fputs(log_of(nvrtc, program).c_str(), stderr);
  if (status != 0) return 1;
  size_t bytes = 0;
  if (nvrtc.cubin_size(program, &bytes) != 0 || bytes == 0) return 1;
  std::string cubin(bytes, '\0');
  if (nvrtc.cubin(program, cubin.data()) != 0) return 1;
  std::ofstream(argv[4], std::ios::binary).write(cubin.data(), static_cast<long>(bytes));
  return 0;
}
