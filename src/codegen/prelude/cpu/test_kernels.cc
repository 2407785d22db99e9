// codegen/prelude/cpu/test_kernels.cc: one level's table of test_kernels.h.
//
// Compiled once per level with that level's -march, the prelude in front as in generated code.
// The order of the includes is that of pasting.
// clang-format off
#include "codegen/prelude/cpu/types.h"
#include "codegen/prelude/cpu/vec.h"
#include "codegen/prelude/cpu/math.h"
#include "codegen/prelude/cpu/narrow.h"
#include "codegen/prelude/cpu/gemm.h"
#include "codegen/prelude/cpu/conv.h"
#include "codegen/prelude/cpu/winograd.h"
// clang-format on

#include "codegen/prelude/cpu/test_kernels.h"

namespace ingot_cpu {
inline namespace INGOT_LEVEL {
namespace {

using namespace ingot::prelude_test;  // NOLINT: only names of the tables

template <class T>
struct Tag {
  typedef T type;
};

/// Calls body with the element type.
template <class Body>
void with_type(Type type, Body body) {
  switch (type) {
    case Type::f32:
      return body(Tag<f32>{});
    case Type::f64:
      return body(Tag<f64>{});
    case Type::f16:
      return body(Tag<f16>{});
    case Type::bf16:
      return body(Tag<bf16>{});
    case Type::i8:
      return body(Tag<i8>{});
    case Type::i16:
      return body(Tag<i16>{});
    case Type::i32:
      return body(Tag<i32>{});
    case Type::i64:
      return body(Tag<ingot_cpu::i64>{});
    case Type::u8:
      return body(Tag<u8>{});
    case Type::u16:
      return body(Tag<u16>{});
    case Type::u32:
      return body(Tag<u32>{});
    case Type::u64:
      return body(Tag<u64>{});
  }
}

/// Calls body(i, Lit<W>) for each vector of n elements, or body(i, Lit<1>) for each element.
template <class Body>
void over(Form form, i64 n, Body body) {
  if (form == Form::vector) {
    for (i64 i = 0; i < n; i += W) body(i, Lit<W>{});
  } else {
    for (i64 i = 0; i < n; ++i) body(i, Lit<1>{});
  }
}

template <class T>
void apply_unary(Unary op, Form form, const T* x, T* y, i64 n) {
  switch (op) {
#define INGOT_CASE(name)                             \
  case Unary::name:                                  \
    return over(form, n, [=](i64 i, auto lanes) {    \
      constexpr i64 N = decltype(lanes)::value;      \
      store(y + i, ingot_cpu::name(load<N>(x + i))); \
    });
    INGOT_TEST_UNARY(INGOT_CASE)
#undef INGOT_CASE
  }
}

template <class T>
void apply_binary(Binary op, Form form, const T* x, const T* y, T* z, i64 n) {
  switch (op) {
#define INGOT_CASE(name)                                             \
  case Binary::name:                                                 \
    return over(form, n, [=](i64 i, auto lanes) {                    \
      constexpr i64 N = decltype(lanes)::value;                      \
      store(z + i, ingot_cpu::name(load<N>(x + i), load<N>(y + i))); \
    });
    INGOT_TEST_BINARY(INGOT_CASE)
#undef INGOT_CASE
  }
}

void copy(Type type, Path path, const void* from, i64 from_stride, void* to, i64 to_stride, i64 n) {
  with_type(type, [=](auto tag) {
    typedef typename decltype(tag)::type T;
    const T* p = static_cast<const T*>(from);
    T* q = static_cast<T*>(to);
    switch (path) {
      case Path::whole:
        return store(q, load(p));
      case Path::partial:
        return store_partial(q, load_partial(p, n), n);
      case Path::filled:
        return store(q, load_partial(p, n, reg<T>(7)));
      case Path::first_lanes:
        return store(q, load_between(p, from_stride, 0, n, reg<T>(7)));
      case Path::last_lanes: {
        const i64 first = W - (n < 0 ? 0 : n > W ? W : n);
        return store(q, load_between(p - first * from_stride, from_stride, first, W, reg<T>(7)));
      }
      case Path::strided:
        if (n == W) return store_strided(q, to_stride, load_strided(p, from_stride));
        return store_strided_partial(q, to_stride, load_strided_partial(p, from_stride, n), n);
      case Path::gathered: {
        const vi32 index = iota(i32(0)) * i32(from_stride);
        const vi64 target = iota(ingot_cpu::i64(0)) * to_stride;
        if (n == W) return scatter(q, target, gather(p, index));
        return scatter_partial(q, target, gather_partial(p, index, n), n);
      }
    }
  });
}

void convert_values(Type from, Type to, Form form, const void* x, void* y) {
  with_type(from, [=](auto source) {
    with_type(to, [=](auto target) {
      typedef typename decltype(source)::type From;
      typedef typename decltype(target)::type To;
      over(form, W, [=](i64 i, auto lanes) {
        constexpr i64 N = decltype(lanes)::value;
        store(static_cast<To*>(y) + i, convert<To>(load<N>(static_cast<const From*>(x) + i)));
      });
    });
  });
}

/// Calls body with a type of narrow.h.
template <class Body>
void with_narrow(ingot::prelude_test::Narrow type, Body body) {
  switch (type) {
#define INGOT_CASE(name)                  \
  case ingot::prelude_test::Narrow::name: \
    return body(Tag<name>{});
    INGOT_TEST_NARROW(INGOT_CASE)
#undef INGOT_CASE
  }
}

/// A pointer to the elements, as kernels have it.
template <class T, class Byte>
auto elements(Byte* bytes) {
  if constexpr (Code<T>::kBits < 8) {
    return packed<T>(bytes);
  } else if constexpr (kSame<Byte, u8>) {
    return reinterpret_cast<T*>(bytes);
  } else {
    return reinterpret_cast<const T*>(bytes);
  }
}

void read_narrow(ingot::prelude_test::Narrow type, Path path, const void* x, i64 first, i64 stride,
                 float* y, i64 n) {
  with_narrow(type, [=](auto tag) {
    typedef typename decltype(tag)::type T;
    const auto p = elements<T>(static_cast<const u8*>(x)) + first;
    for (i64 i = 0; i < n; i += W) {
      const i64 rest = n - i;
      const auto at = p + i * stride;
      const auto put = [=](const vec<T>& v) { store_partial(y + i, convert<f32>(v), rest); };
      const vi64 index = iota(i64(0)) * stride;
      switch (path) {
        case Path::whole:
          for (i64 k = 0; k < W && k < rest; ++k) y[i + k] = convert<f32>(load<1>(at + k * stride));
          break;
        case Path::partial:
          if (rest >= W) {
            put(load(at));
          } else {
            put(load_partial(at, rest));
          }
          break;
        case Path::filled:
          put(gather_if(at, index, first_lanes(rest), reg<T>(1)));
          break;
        case Path::first_lanes:
        case Path::last_lanes:
          put(load_between(at, stride, 0, rest, reg<T>(1)));
          break;
        case Path::strided:
          put(rest >= W ? load_strided(at, stride) : load_strided_partial(at, stride, rest));
          break;
        case Path::gathered:
          put(rest >= W ? gather(at, index) : gather_partial(at, index, rest));
          break;
      }
    }
  });
}

void write_narrow(ingot::prelude_test::Narrow type, Path path, const float* x, void* y, i64 first,
                  i64 stride, i64 n) {
  with_narrow(type, [=](auto tag) {
    typedef typename decltype(tag)::type T;
    const auto p = elements<T>(static_cast<u8*>(y)) + first;
    for (i64 i = 0; i < n; i += W) {
      const i64 rest = n - i;
      const auto at = p + i * stride;
      const vec<T> v = convert<T>(load_partial(x + i, rest));
      const vi64 index = iota(i64(0)) * stride;
      switch (path) {
        case Path::whole:
          for (i64 k = 0; k < W && k < rest; ++k) store(at + k * stride, convert<T>(x[i + k]));
          break;
        case Path::partial:
          if (rest >= W) {
            store(at, v);
          } else {
            store_partial(at, v, rest);
          }
          break;
        case Path::filled:
        case Path::first_lanes:
        case Path::last_lanes:
          scatter_if(at, index, v, first_lanes(rest));
          break;
        case Path::strided:
          if (rest >= W) {
            store_strided(at, stride, v);
          } else {
            store_strided_partial(at, stride, v, rest);
          }
          break;
        case Path::gathered:
          if (rest >= W) {
            scatter(at, index, v);
          } else {
            scatter_partial(at, index, v, rest);
          }
          break;
      }
    }
  });
}

void arithmetic(Arithmetic op, Type type, Form form, const void* x, const void* y, void* z) {
  with_type(type, [=](auto tag) {
    typedef typename decltype(tag)::type T;
    over(form, W, [=](i64 i, auto lanes) {
      constexpr i64 N = decltype(lanes)::value;
      const auto a = load<N>(static_cast<const T*>(x) + i);
      const auto b = load<N>(static_cast<const T*>(y) + i);
      T* to = static_cast<T*>(z) + i;
      switch (op) {
#define INGOT_CASE(name) \
  case Arithmetic::name: \
    return store(to, ingot_cpu::name(a, b));
#define INGOT_INTEGER_CASE(name)                                              \
  case Arithmetic::name:                                                      \
    if constexpr (!kIsFloat<reg<T>>) return store(to, ingot_cpu::name(a, b)); \
    return;
        INGOT_CASE(min)
        INGOT_CASE(max)
        INGOT_CASE(div)
        INGOT_INTEGER_CASE(fmod)
        INGOT_INTEGER_CASE(floordiv)
        INGOT_INTEGER_CASE(floormod)
        INGOT_INTEGER_CASE(shift_left)
        INGOT_INTEGER_CASE(shift_right)
#undef INGOT_CASE
#undef INGOT_INTEGER_CASE
      }
    });
  });
}

void compare(Comparison op, Type type, Form form, const void* x, const void* y, void* z,
             unsigned char* mask) {
  with_type(type, [=](auto tag) {
    typedef typename decltype(tag)::type T;
    over(form, W, [=](i64 i, auto lanes) {
      constexpr i64 N = decltype(lanes)::value;
      const auto a = load<N>(static_cast<const T*>(x) + i);
      const auto b = load<N>(static_cast<const T*>(y) + i);
      const auto m = [&] {
        switch (op) {
#define INGOT_CASE(name) \
  case Comparison::name: \
    return ingot_cpu::name(a, b);
          INGOT_TEST_COMPARISON(INGOT_CASE)
#undef INGOT_CASE
        }
        return equal(a, b);
      }();
      store(static_cast<T*>(z) + i, select(m, a, b));
      store(mask + i, from_mask<u8>(m));
    });
  });
}

void signs(Type type, Form form, const void* x, const void* y, void* z) {
  with_type(type, [=](auto tag) {
    typedef typename decltype(tag)::type T;
    over(form, W, [=](i64 i, auto lanes) {
      constexpr i64 N = decltype(lanes)::value;
      const auto a = load<N>(static_cast<const T*>(x) + i);
      [[maybe_unused]] const auto b = load<N>(static_cast<const T*>(y) + i);
      T* to = static_cast<T*>(z) + i;
      store(to, abs(a));
      store(to + W, sign(a));
      if constexpr (kIsFloat<reg<T>>) {
        store(to + 2 * W, copysign(a, b));
        store(to + 3 * W, from_mask<T>(is_nan(a)));
        store(to + 4 * W, from_mask<T>(is_inf(a)));
      }
    });
  });
}

void reduce(Reduction op, Type type, const void* x, void* y) {
  with_type(type, [=](auto tag) {
    typedef typename decltype(tag)::type T;
    const auto v = load(static_cast<const T*>(x));
    switch (op) {
#define INGOT_CASE(name) \
  case Reduction::name:  \
    return store(static_cast<T*>(y), ingot_cpu::name(v));
      INGOT_TEST_REDUCTION(INGOT_CASE)
#undef INGOT_CASE
    }
  });
}

void any_all(const f32* x, const f32* y, bool* some, bool* every) {
  const vmask m = less(load(x), load(y));
  *some = any(m);
  *every = all(m);
}

/// Runs call(epilogue, initial) with or without initial values.
template <class Call>
void with_initial(const f32* values, Call call) {
  if (values == nullptr) return call(FromZero{});
  call([=](i64 n, i64 lanes) INGOT_LAMBDA { return load_partial(values + n, lanes); });
}

template <class KT, class NT>
void gemm_of(const Gemm& g, KT k, NT n) {
  const auto epilogue = [&](i64 m, i64 column, vf32 acc, i64 lanes) INGOT_LAMBDA {
    store_partial(g.c + m * g.c_stride + column, acc, lanes);
  };
  with_initial(g.initial, [&](auto initial) {
    if (!g.produced) {
      return gemm(g.m_begin, g.m_end, g.panel_begin, g.panel_end, k, n, g.a, g.a_stride, g.b,
                  epilogue, initial);
    }
    const auto produce = [&](i64 m, f32* row) INGOT_LAMBDA {
      for (i64 i = 0; i < g.k; ++i) row[i] = g.a[m * g.a_stride + i];
    };
    gemm_produced(g.m_begin, g.m_end, g.panel_begin, g.panel_end, k, n, produce, g.scratch,
                  g.scratch_rows, g.b, epilogue, initial);
  });
}

void gemm_kernel(const Gemm& g) {
  // One shape with literal sizes, the others at run time.
  if (g.k == 40 && g.n == 100) return gemm_of(g, Lit<40>{}, Lit<100>{});
  gemm_of(g, g.k, g.n);
}

ConvShape shape_of(const Conv& c) {
  ConvShape s;
  s.h = c.h, s.w = c.w, s.c = c.c, s.oh = c.oh, s.ow = c.ow, s.kh = c.kh, s.kw = c.kw;
  s.stride_h = c.stride_h, s.stride_w = c.stride_w;
  s.dilation_h = c.dilation_h, s.dilation_w = c.dilation_w;
  s.pad_top = c.pad_top, s.pad_left = c.pad_left;
  s.x_batch_stride = c.x_batch_stride, s.x_row_stride = c.x_row_stride;
  s.x_pixel_stride = c.x_pixel_stride;
  return s;
}

void conv_kernel(const Conv& c) {
  const auto epilogue = [&](i64 m, i64 n, vf32 acc, i64 lanes)
                            INGOT_LAMBDA { store_partial(c.y + m * c.oc + n, acc, lanes); };
  with_initial(c.initial, [&](auto initial) {
    conv2d(shape_of(c), c.pixel_begin, c.pixel_end, c.panel_begin, c.panel_end, c.oc, c.x,
           c.weights, epilogue, initial);
  });
}

void depthwise_kernel(const Conv& c) {
  const auto epilogue = [&](i64 m, i64 n, vf32 acc, i64 lanes)
                            INGOT_LAMBDA { store_partial(c.y + m * c.oc + n, acc, lanes); };
  with_initial(c.initial, [&](auto initial) {
    depthwise(shape_of(c), c.pixel_begin, c.pixel_end, c.x, c.weights, epilogue, initial);
  });
}

void winograd_kernel(const Conv& c) {
  const auto epilogue = [&](i64 m, i64 n, vf32 acc, i64 lanes)
                            INGOT_LAMBDA { store_partial(c.y + m * c.oc + n, acc, lanes); };
  with_initial(c.initial, [&](auto initial) {
    winograd(shape_of(c), c.row_begin, c.row_end, c.oc, c.x, c.weights, c.scratch, epilogue,
             initial);
  });
}
i64 winograd_rows_of(i64 oh) {
  return winograd_rows(oh);
}
i64 winograd_scratch_of(i64 ow, i64 c, i64 n) {
  return winograd_scratch_size(ow, c, n);
}

i64 width_of(i64 n) {
  return panel_width(n);
}
i64 scratch_of(i64 k, i64 rows) {
  return gemm_scratch_size(k, rows);
}
void pack(i64 panel_begin, i64 panel_end, i64 k, i64 n, const f32* b, i64 stride_k, i64 stride_n,
          f32* packed) {
  pack_panels(panel_begin, panel_end, k, n, b, stride_k, stride_n, packed);
}

constexpr Level kTable = {
    .name = INGOT_LEVEL_NUMBER == 4   ? "v4"
            : INGOT_LEVEL_NUMBER == 3 ? "v3"
                                      : "v1",
    .width = W,
    .has_fma = INGOT_LEVEL_NUMBER > 1,
    .unary = apply_unary<f32>,
    .unary64 = apply_unary<f64>,
    .binary = apply_binary<f32>,
    .binary64 = apply_binary<f64>,
    .copy = copy,
    .convert = convert_values,
    .read_narrow = read_narrow,
    .write_narrow = write_narrow,
    .arithmetic = arithmetic,
    .compare = compare,
    .signs = signs,
    .reduce = reduce,
    .any_all = any_all,
    .panel_width = width_of,
    .gemm_scratch_size = scratch_of,
    .pack = pack,
    .gemm = gemm_kernel,
    .conv = conv_kernel,
    .depthwise = depthwise_kernel,
    .winograd_rows = winograd_rows_of,
    .winograd_scratch_size = winograd_scratch_of,
    .winograd = winograd_kernel,
};

}  // namespace
}  // namespace INGOT_LEVEL
}  // namespace ingot_cpu

namespace ingot::prelude_test {
#if INGOT_LEVEL_NUMBER == 4
const Level kLevelV4 = ingot_cpu::kTable;
#elif INGOT_LEVEL_NUMBER == 3
const Level kLevelV3 = ingot_cpu::kTable;
#else
const Level kLevelV1 = ingot_cpu::kTable;
#endif
}  // namespace ingot::prelude_test
