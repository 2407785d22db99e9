// frontend/onnx/storage.h: what ONNX adds to a plain conversion to narrow storage types.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "kernel/expr.h"

namespace ingot::onnx {

/// How a number becomes a power of two (f8e8m0).
enum class PowerRounding : uint8_t { up, down, nearest };

struct StorageOptions {
  bool saturate = true;
  PowerRounding rounding = PowerRounding::up;
};

/// A number as `to` would hold it, whether or not it is going to be stored: floats narrower than
/// f32 are rounded, 8-bit ones saturate, infinities included; NaN is -0 in f4e2m1; f8e8m0 rounds as
/// asked; integers narrower than a byte keep the low bits. Source: ONNX Cast-25.
Expr storable(Expr e, DType to, StorageOptions options = {});

}  // namespace ingot::onnx
