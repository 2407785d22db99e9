// cli/picture.cc: PNG and JPEG pictures as tensors.
#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "base/text.h"
#include "cli/host_tensor.h"

namespace ingot::cli {
namespace {

/// Largest picture that is decoded, in pixels.
constexpr uint64_t kMostPixels = uint64_t{1} << 28;

struct Picture {
  int64_t height = 0, width = 0, channels = 0;
  std::vector<uint8_t> pixels;  // [height, width, channels]
};

/// What `how` says.
struct Layout {
  bool channels_first = true;
  bool gray = false, swapped = false;
  bool scaled = false;  // any of scale, mean, std: f32
  double scale = 1;
  std::vector<double> mean = {0}, deviation = {1};
  std::optional<std::pair<int64_t, int64_t>> size;
};

Result<double> parse_ratio(std::string_view text) {
  const auto parts = split(text, '/');
  const auto a = parse_number(parts[0]);
  const auto b = parts.size() == 2 ? parse_number(parts[1]) : std::optional<double>(1);
  if (!a || !b || parts.size() > 2 || *b == 0) {
    return invalid_argument("expected a number or A/B, got '", text, "'");
  }
  return *a / *b;
}

/// Numbers between ':'.
Status append_list(std::string_view text, std::vector<double>& values) {
  for (std::string_view part : split(text, ':')) {
    TRY(const double value, parse_ratio(part));
    values.push_back(value);
  }
  return ok();
}

Status check_list(std::string_view key, const std::vector<double>& values, bool gray) {
  if (values.size() == 1 || (values.size() == 3 && !gray)) return ok();
  return invalid_argument(key, ": expected one value", gray ? "" : " or three", ", got ",
                          values.size());
}

Result<Layout> parse_layout(std::string_view how) {
  Layout layout;
  std::vector<double>* list = nullptr;  // what a bare number continues: mean=1,2,3
  for (std::string_view word : split(how, ',')) {
    if (list != nullptr && parse_ratio(word)) {
      TRY_STATUS(append_list(word, *list));
      continue;
    }
    list = nullptr;
    const size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    if (word.empty() || word == "nchw" || word == "rgb") continue;
    if (word == "nhwc") {
      layout.channels_first = false;
    } else if (word == "bgr") {
      layout.swapped = true;
    } else if (word == "gray") {
      layout.gray = true;
    } else if (key == "scale") {
      TRY(layout.scale, add_note(parse_ratio(value), key));
      layout.scaled = true;
    } else if (key == "mean" || key == "std") {
      list = key == "mean" ? &layout.mean : &layout.deviation;
      list->clear();
      TRY_STATUS(add_note(append_list(value, *list), key));
      layout.scaled = true;
    } else if (key == "size") {
      const auto parts = split(value, 'x');
      const auto height = parse_int(parts[0]);
      const auto width = parts.size() == 2 ? parse_int(parts[1]) : std::nullopt;
      if (!height || !width) return invalid_argument("size: expected HxW, got '", value, "'");
      layout.size = {*height, *width};
    } else {
      return invalid_argument(
          "expected nchw, nhwc, rgb, bgr, gray, size=HxW, scale=, mean= or std=, "
          "got '",
          word, "'");
    }
  }
  TRY_STATUS(check_list("mean", layout.mean, layout.gray));
  TRY_STATUS(check_list("std", layout.deviation, layout.gray));
  if (std::ranges::find(layout.deviation, 0.0) != layout.deviation.end()) {
    return invalid_argument("std: expected values other than 0");
  }
  return layout;
}

Result<Picture> decode_png(std::string_view bytes, bool gray) {
  png_image image;
  std::memset(&image, 0, sizeof(image));
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) {
    return invalid_model("not a PNG: ", image.message);
  }
  if (uint64_t{image.width} * image.height > kMostPixels) {
    png_image_free(&image);
    return resource_exhausted("the picture has more than ", kMostPixels, " pixels");
  }
  image.format = gray ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Picture picture{image.height, image.width, gray ? 1 : 3, {}};
  picture.pixels.resize(PNG_IMAGE_SIZE(image));
  const png_color black{0, 0, 0};
  if (png_image_finish_read(&image, &black, picture.pixels.data(), 0, nullptr) == 0) {
    return invalid_model("damaged PNG: ", image.message);
  }
  return picture;
}

Result<Picture> decode_jpeg(std::string_view bytes, bool gray) {
  struct Handle {
    tjhandle handle = ::tjInitDecompress();
    ~Handle() { ::tjDestroy(handle); }
  } decoder;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, sampling = 0, space = 0;
  if (::tjDecompressHeader3(decoder.handle, data, bytes.size(), &width, &height, &sampling,
                            &space) != 0) {
    return invalid_model("not a JPEG: ", ::tjGetErrorStr2(decoder.handle));
  }
  if (static_cast<uint64_t>(width) * static_cast<uint64_t>(height) > kMostPixels) {
    return resource_exhausted("the picture has more than ", kMostPixels, " pixels");
  }
  Picture picture{height, width, gray ? 1 : 3, {}};
  picture.pixels.resize(static_cast<size_t>(picture.height * picture.width * picture.channels));
  if (::tjDecompress2(decoder.handle, data, bytes.size(), picture.pixels.data(), width, 0, height,
                      gray ? TJPF_GRAY : TJPF_RGB, 0) != 0) {
    return invalid_model("damaged JPEG: ", ::tjGetErrorStr2(decoder.handle));
  }
  return picture;
}

HostTensor arrange(const Picture& p, const Layout& layout) {
  HostTensor tensor;
  tensor.dtype = layout.scaled ? DType::f32 : DType::u8;
  tensor.dims = layout.channels_first ? std::vector<int64_t>{1, p.channels, p.height, p.width}
                                      : std::vector<int64_t>{1, p.height, p.width, p.channels};
  const size_t width = static_cast<size_t>(bits(tensor.dtype) / 8);
  tensor.bytes.resize(p.pixels.size() * width);
  const auto at = [](const std::vector<double>& values, int64_t c) {
    return values.size() == 1 ? values[0] : values[static_cast<size_t>(c)];
  };
  for (int64_t i = 0; i < p.height * p.width; ++i) {
    for (int64_t c = 0; c < p.channels; ++c) {
      const int64_t from = layout.swapped ? p.channels - 1 - c : c;
      const uint8_t pixel = p.pixels[static_cast<size_t>(i * p.channels + from)];
      const int64_t to = layout.channels_first ? c * p.height * p.width + i : i * p.channels + c;
      std::byte* place = tensor.bytes.data() + static_cast<size_t>(to) * width;
      if (!layout.scaled) {
        *place = static_cast<std::byte>(pixel);
        continue;
      }
      const float value =
          static_cast<float>((pixel * layout.scale - at(layout.mean, c)) / at(layout.deviation, c));
      std::memcpy(place, &value, sizeof(value));
    }
  }
  return tensor;
}

}  // namespace

Result<HostTensor> read_picture(const std::filesystem::path& path, std::string_view how) {
  TRY(const Layout layout, add_note(parse_layout(how), path.string()));
  TRY(const MappedFile file, MappedFile::open(path));
  const bool png = file.text().starts_with("\x89PNG");
  TRY(const Picture picture,
      add_note(png ? decode_png(file.text(), layout.gray) : decode_jpeg(file.text(), layout.gray),
               path.string()));
  if (layout.size &&
      (layout.size->first != picture.height || layout.size->second != picture.width)) {
    return invalid_argument(path.string(), ": expected ", layout.size->first, "x",
                            layout.size->second, " pixels, got ", picture.height, "x",
                            picture.width);
  }
  return arrange(picture, layout);
}

}  // namespace ingot::cli
