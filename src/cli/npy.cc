// cli/npy.cc: NumPy's .npy and .npz.
// Source: NEP 1, "A Simple File Format for NumPy Arrays".
#include <zip.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/file.h"
#include "base/letter_case.h"
#include "base/text.h"
#include "cli/host_tensor.h"

namespace ingot::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
/// Largest member of an archive that is unpacked.
constexpr uint64_t kMostMember = uint64_t{1} << 34;

struct TypeName {
  std::string_view name;
  DType dtype;
};
constexpr TypeName kTypes[] = {
    {"|b1", DType::b8},  {"|i1", DType::i8},  {"|u1", DType::u8},  {"<i2", DType::i16},
    {"<u2", DType::u16}, {"<i4", DType::i32}, {"<u4", DType::u32}, {"<i8", DType::i64},
    {"<u8", DType::u64}, {"<f2", DType::f16}, {"<f4", DType::f32}, {"<f8", DType::f64},
};

/// The text behind 'key': in the header's dictionary.
Result<std::string_view> entry(std::string_view header, std::string_view key) {
  const size_t at = header.find(concat("'", key, "':"));
  if (at == std::string_view::npos) return invalid_model("the header has no '", key, "'");
  return trim(header.substr(at + key.size() + 3));
}

Result<std::vector<int64_t>> parse_shape(std::string_view text) {
  const size_t close = text.find(')');
  if (!text.starts_with('(') || close == std::string_view::npos) {
    return invalid_model("expected a tuple as the shape");
  }
  std::vector<int64_t> dims;
  for (std::string_view part : split(text.substr(1, close - 1), ',')) {
    if (trim(part).empty()) continue;
    const auto value = parse_int(trim(part));
    if (!value || *value < 0) return invalid_model("expected sizes in the shape, got '", part, "'");
    dims.push_back(*value);
  }
  return dims;
}

/// Fortran order to C order, of elements of so many bytes.
void transpose(HostTensor& tensor, size_t width) {
  std::vector<int64_t> strides(tensor.dims.size(), 1);
  for (size_t k = 1; k < strides.size(); ++k) strides[k] = strides[k - 1] * tensor.dims[k - 1];
  std::vector<std::byte> result(tensor.bytes.size());
  for_each_index(tensor.dims, [&](int64_t to, std::span<const int64_t> index) {
    int64_t from = 0;
    for (size_t k = 0; k < index.size(); ++k) from += index[k] * strides[k];
    std::memcpy(result.data() + static_cast<size_t>(to) * width,
                tensor.bytes.data() + static_cast<size_t>(from) * width, width);
  });
  tensor.bytes = std::move(result);
}

/// What an array's elements are.
struct Element {
  DType dtype;
  uint64_t bytes;
  bool in_utf32 = false;  // strings, as are others of bytes
};

Result<Element> element_of(std::string_view descr) {
  const size_t end = descr.find('\'', 1);
  const std::string_view name = descr.substr(0, end).substr(descr.starts_with('\'') ? 1 : 0);
  for (const TypeName& row : kTypes) {
    if (name == row.name) return Element{row.dtype, static_cast<uint64_t>(bits(row.dtype) / 8)};
  }
  const bool in_utf32 = name.starts_with("<U");
  const auto length = parse_int(name.substr(std::min<size_t>(name.size(), 2)));
  if ((!in_utf32 && !name.starts_with("|S")) || !length || *length < 1 || *length > INT32_MAX) {
    return unsupported("arrays of type ", name.substr(0, 8));
  }
  return Element{DType::str, static_cast<uint64_t>(*length) * (in_utf32 ? 4 : 1), in_utf32};
}

/// The bytes as strings, each without the zeros at its end.
Status make_strings(HostTensor& tensor, const Element& element) {
  const std::vector<std::byte> bytes = std::exchange(tensor.bytes, {});
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto count = static_cast<size_t>(count_of(tensor.dims));
  for (size_t k = 0; k < count; ++k) {
    const std::string_view held = all.substr(k * element.bytes, element.bytes);
    std::string& text = tensor.strings.emplace_back();
    if (!element.in_utf32) {
      text = held.substr(0, held.find_last_not_of('\0') + 1);
      continue;
    }
    size_t zeros = 0;
    for (size_t at = 0; at < held.size(); at += 4) {
      uint32_t rune = 0;
      std::memcpy(&rune, held.data() + at, 4);
      if (rune > 0x10FFFF) return invalid_model("a string has a character ", rune);
      zeros = rune == 0 ? zeros + 1 : 0;
      append_rune(rune, text);
    }
    text.resize(text.size() - zeros);
  }
  return ok();
}

Result<HostTensor> parse(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) return invalid_model("not an .npy file");
  const auto version = static_cast<uint8_t>(bytes[6]);
  const size_t length_bytes = version == 1 ? 2 : 4;
  size_t length = 0;
  for (size_t k = 0; k < length_bytes; ++k) {
    length |= static_cast<size_t>(static_cast<uint8_t>(bytes[8 + k])) << (8 * k);
  }
  const size_t first = 8 + length_bytes;
  if (version < 1 || version > 3 || length > bytes.size() - first) {
    return invalid_model("its header is damaged");
  }
  const std::string_view header = bytes.substr(first, length);
  TRY(const std::string_view descr, entry(header, "descr"));
  TRY(const std::string_view order, entry(header, "fortran_order"));
  TRY(const std::string_view shape, entry(header, "shape"));
  HostTensor tensor;
  TRY(tensor.dims, parse_shape(shape));
  TRY(const Element element, element_of(descr));
  tensor.dtype = element.dtype;
  uint64_t size = element.bytes;
  for (int64_t dim : tensor.dims) {
    if (__builtin_mul_overflow(size, static_cast<uint64_t>(dim), &size)) {
      return invalid_model("its shape is too large");
    }
  }
  const std::string_view data = bytes.substr(first + length);
  if (data.size() != size) {
    return invalid_model("expected ", size, " bytes of values, got ", data.size());
  }
  const auto* begin = reinterpret_cast<const std::byte*>(data.data());
  tensor.bytes.assign(begin, begin + data.size());
  if (order.starts_with("True")) transpose(tensor, element.bytes);
  if (element.dtype == DType::str) TRY_STATUS(make_strings(tensor, element));
  return tensor;
}

}  // namespace

Result<HostTensor> parse_npy(std::string_view bytes, std::string_view name) {
  return add_note(parse(bytes), name);
}

Result<HostTensor> read_npy(const std::filesystem::path& path) {
  TRY(const MappedFile file, MappedFile::open(path));
  return parse_npy(file.text(), path.string());
}

std::string format_npy(const HostTensor& tensor) {
  std::string_view name;
  for (const TypeName& row : kTypes) {
    if (row.dtype == tensor.dtype) name = row.name;
  }
  if (name.empty()) name = bits(tensor.dtype) == 16 ? "<u2" : "|u1";
  const bool packed = bits(tensor.dtype) < 8;
  if (packed && is_int(tensor.dtype) && is_signed(tensor.dtype)) name = "|i1";
  std::string shape = join(tensor.dims, ", ");
  if (tensor.dims.size() == 1) shape += ",";
  std::string header =
      concat("{'descr': '", name, "', 'fortran_order': False, 'shape': (", shape, "), }");
  // The values start at a multiple of 64.
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string text(kMagic);
  text += '\x01';
  text += '\0';
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  text += header;
  if (!packed) {
    text.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    return text;
  }
  const DType codes = is_int(tensor.dtype) ? tensor.dtype : DType::u4;
  for (int64_t k = 0; k < count_of(tensor.dims); ++k) {
    const int64_t value = load_as_int(codes, tensor.bytes.data(), static_cast<size_t>(k));
    text += static_cast<char>(value);
  }
  return text;
}

Result<std::map<std::string, HostTensor>> read_npz(const std::filesystem::path& path) {
  TRY(const MappedFile exists, MappedFile::open(path));
  int code = 0;
  zip_t* archive = ::zip_open(path.c_str(), ZIP_RDONLY, &code);
  if (archive == nullptr) return invalid_model(path.string(), ": not an .npz archive");
  struct Closer {
    zip_t* archive;
    ~Closer() { ::zip_discard(archive); }
  } closer{archive};
  std::map<std::string, HostTensor> arrays;
  const zip_int64_t count = ::zip_get_num_entries(archive, 0);
  for (zip_int64_t k = 0; k < count; ++k) {
    zip_stat_t stat;
    if (::zip_stat_index(archive, static_cast<zip_uint64_t>(k), 0, &stat) != 0 ||
        stat.size > kMostMember) {
      return invalid_model(path.string(), ": entry ", k, " is damaged or too large");
    }
    std::string name = stat.name;
    std::string bytes(stat.size, '\0');
    zip_file_t* file = ::zip_fopen_index(archive, static_cast<zip_uint64_t>(k), 0);
    const zip_int64_t got = file == nullptr ? -1 : ::zip_fread(file, bytes.data(), bytes.size());
    if (file != nullptr) ::zip_fclose(file);
    if (got != static_cast<zip_int64_t>(bytes.size())) {
      return invalid_model(path.string(), ": entry '", name, "' is damaged");
    }
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    TRY(arrays[name], parse_npy(bytes, concat(path.string(), ": ", name)));
  }
  return arrays;
}

}  // namespace ingot::cli
