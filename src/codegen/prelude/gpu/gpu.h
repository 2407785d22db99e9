// codegen/prelude/gpu/gpu.h: what GPU kernels are written in, whichever GPU it is.
//
// A kernel includes this file, or has its text pasted in front: the header of one back end
// (gpu_cuda.h, gpu_hip.h, or the emulator's), then gpu_math.h and gpu_reduce.h. None of them
// includes a system header.
//
// A back end provides
//   GPU_KERNEL(threads)         what stands before `void` of a kernel of that many threads a block
//   GPU_DEVICE                  what stands before a function that kernels call
//   GPU_SHARED(type, name, n)   an array of n elements, one for the whole block
//   threadIdx blockIdx gridDim  of which kernels use x
//   gpu::kWarp                  threads a warp (NVIDIA) or wave (AMD)
//   gpu::sync, gpu::warp_sync   barriers of the block and the warp
//   gpu::shuffle_xor            the 32-bit word of lane (own ^ mask)
//   gpu::ld, gpu::st            one aligned access of a whole Vec
//   gpu::i64, u32, u64          integers
//   gpu::bits_of                the bits of a float or double, as u32 or u64
//   gpu::f32_of, f64_of         and back
//   gpu::f16, bf16              storage types: 16 `bits`
//   gpu::to_f32, round_to_f16   from f16 and, to nearest even, to it
//   gpu::exp, log, ...          the functions of <cmath> that gpu_cuda.h lists, float and double
#pragma once

#if defined(INGOT_GPU_EMULATOR)
#include "gpu_emu.h"  // of tests/gpu/emulator; an emulated build has it on its include path
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "gpu_cuda.h"
#elif defined(__HIP__)
#include "gpu_hip.h"
#else
#error "gpu.h: compile as CUDA, as HIP, or for the emulator (INGOT_GPU_EMULATOR)"
#endif

#include "gpu_math.h"
#include "gpu_reduce.h"
