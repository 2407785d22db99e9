// cli/host_tensor.h: tensors in files: .npy, .npz, ONNX .pb, raw bytes, pictures.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/random.h"
#include "base/result.h"
#include "cli/command.h"
#include "ir/tensor.h"
#include "ir/type.h"

namespace ingot::cli {

/// A row-major tensor that owns its bytes (storage bytes, little-endian), or a sequence, optional
/// or map of some.
struct HostTensor {
  enum class Kind : uint8_t { tensor, sequence, optional, map };
  DType dtype = DType::f32;  // of a container: of the tensors in it; of maps: of the values
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;
  std::vector<std::string> strings = {};  // instead of bytes
  Kind kind = Kind::tensor;
  std::vector<HostTensor> items = {};  // of a container; of a map the keys [n] and the values [n]
  bool holds_sequences = false;        // an optional
  std::optional<DType> key = {};       // of a map, and of a sequence of maps
};

/// NumPy's format, versions 1 to 3, C or Fortran order. Types: those NumPy knows, f16 and strings
/// too. Errors: io, invalid_model for a damaged file, unsupported for other types.
Result<HostTensor> read_npy(const std::filesystem::path& path);
Result<HostTensor> parse_npy(std::string_view bytes, std::string_view name);
/// Types that NumPy lacks (bf16, f8, ...) are written as unsigned integers of their width, those
/// narrower than a byte as a byte each.
std::string format_npy(const HostTensor& tensor);
/// Arrays of an .npz by name.
Result<std::map<std::string, HostTensor>> read_npz(const std::filesystem::path& path);

/// An ONNX TensorProto, SequenceProto, OptionalProto or MapProto, which do not say themselves what
/// they are.
Result<HostTensor> read_pb(const std::filesystem::path& path,
                           HostTensor::Kind kind = HostTensor::Kind::tensor);
/// The same as bytes.
std::string format_pb(const HostTensor& tensor, std::string_view name);
HostTensor::Kind kind_of(const Type& type);
/// "f32[2, 3]", "sequence of f32", "map from i64 to f32".
std::string type_text(const HostTensor& tensor);

/// A picture as a tensor. `how` is a comma separated list of: nchw (default) or nhwc; rgb
/// (default), bgr or gray; size=HxW (must match: nothing is resized); scale=S (a number or A/B),
/// mean=M or M:M:M (or M,M,M), std=S likewise. Values are (pixel * scale - mean) / std, f32; u8
/// without any of the three. Errors: io, invalid_model for a damaged picture, invalid_argument for
/// `how`.
Result<HostTensor> read_picture(const std::filesystem::path& path, std::string_view how);

/// "FILE" by its suffix, with what stands behind the file's name: FILE.bin:f32[2,3],
/// FILE.png:nchw,gray,scale=1/255. Errors: as above; invalid_argument for an unknown suffix.
Result<HostTensor> read_tensor_file(std::string_view text,
                                    HostTensor::Kind kind = HostTensor::Kind::tensor);

/// Values of a kind: reals from a bell curve, integers and booleans from 0..1. Unfinished if the
/// program was interrupted.
HostTensor random_tensor(DType dtype, std::vector<int64_t> dims, Random& random);

/// The interpreter's form, and from it. Errors: invalid_argument.
HostTensor from_tensor(const Tensor& tensor, const Type& type);
Result<Tensor> to_tensor(const HostTensor& tensor);

/// Nested lists of numbers, NaN and infinities as strings; or of strings. An optional is its item
/// or null, a map an object.
Json values_json(const HostTensor& tensor);

}  // namespace ingot::cli
