// picture/picture_test.cc: files as libjpeg-turbo and libpng write them, judged by how those decode
// them; small files by hand; damaged ones.
#include "picture/picture.h"

#include <gtest/gtest.h>
#include <png.h>
#include <turbojpeg.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"

namespace ingot::picture {
namespace {

using Pixels8 = std::vector<uint8_t>;

struct Decoded {
  Outcome outcome;
  int64_t height = 0, width = 0;
  Pixels8 pixels;
};

Decoded decode_as(std::string_view file, Pixels wanted) {
  // In memory of its own size, so that sanitizers see what is read behind its end.
  const Pixels8 bytes(file.begin(), file.end());
  Picture picture;
  Decoded d{decode(bytes.data(), static_cast<int64_t>(bytes.size()), picture), 0, 0, {}};
  if (!d.outcome.good()) return d;
  d.height = picture.height;
  d.width = picture.width;
  d.pixels.resize(static_cast<size_t>(d.height * d.width * channels_of(wanted)));
  picture.write(wanted, d.pixels.data());
  return d;
}

/// Noise, slopes or squares.
Pixels8 draw_pixels(Random& rng, int64_t height, int64_t width, int64_t channels) {
  const int64_t kind = rng.range(0, 2);
  Pixels8 pixels;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t value = kind == 0   ? rng.range(0, 255)
                              : kind == 1 ? 3 * y + 5 * x + 40 * c
                                          : (y / 5 * 37 + x / 5 * 101 + c * 59) * 11;
        pixels.push_back(static_cast<uint8_t>(value));
      }
    }
  }
  return pixels;
}

std::string text_of(const unsigned char* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// ---- JPEG --------------------------------------------------------------------------------------

struct JpegKind {
  int64_t height, width;
  int sampling, quality;
  bool progressive;
  int64_t restart = 0;  // after so many units; 0: never
};

std::string encode_jpeg(const JpegKind& kind, const Pixels8& rgb) {
  const tjhandle handle = ::tjInitCompress();
  // The library has no other way to ask for it.
  ::setenv("TJ_RESTART", concat(kind.restart, "B").c_str(), 1);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): the library's
  const int failed = ::tjCompress2(
      handle, rgb.data(), static_cast<int>(kind.width), 0, static_cast<int>(kind.height), TJPF_RGB,
      &bytes, &size, kind.sampling, kind.quality, kind.progressive ? TJFLAG_PROGRESSIVE : 0);
  EXPECT_EQ(failed, 0) << ::tjGetErrorStr2(handle);
  std::string file = text_of(bytes, size);
  ::tjFree(bytes);
  ::tjDestroy(handle);
  return file;
}

Pixels8 libjpeg_pixels(const std::string& file, const JpegKind& kind) {
  const tjhandle handle = ::tjInitDecompress();
  Pixels8 rgb(static_cast<size_t>(kind.height * kind.width * 3));
  const int failed = ::tjDecompress2(handle, reinterpret_cast<const unsigned char*>(file.data()),
                                     file.size(), rgb.data(), static_cast<int>(kind.width), 0,
                                     static_cast<int>(kind.height), TJPF_RGB, 0);
  EXPECT_EQ(failed, 0) << ::tjGetErrorStr2(handle);
  ::tjDestroy(handle);
  return rgb;
}

JpegKind draw_jpeg(Random& rng) {
  return {rng.range(1, 70),
          rng.range(1, 70),
          static_cast<int>(rng.range(0, TJ_NUMSAMP - 1)),
          static_cast<int>(rng.range(1, 100)),
          rng.chance(0.5),
          rng.chance(0.3) ? rng.range(1, 5) : 0};
}

TEST(Jpeg, IsWhatLibjpegTurboDecodes) {
  Random rng(1);
  for (int round = 0; round < 300; ++round) {
    const JpegKind kind = draw_jpeg(rng);
    const std::string file = encode_jpeg(kind, draw_pixels(rng, kind.height, kind.width, 3));
    const Decoded got = decode_as(file, Pixels::rgb);
    ASSERT_TRUE(got.outcome.good()) << got.outcome.reason;
    ASSERT_EQ(got.height, kind.height);
    ASSERT_EQ(got.width, kind.width);
    ASSERT_EQ(got.pixels, libjpeg_pixels(file, kind))
        << kind.height << " x " << kind.width << ", sampling " << kind.sampling << ", quality "
        << kind.quality << (kind.progressive ? ", progressive" : "") << ", restart "
        << kind.restart;
  }
}

// ---- PNG ---------------------------------------------------------------------------------------

struct PngKind {
  int64_t height, width;
  int depth, colour;
  bool interlaced;

  int64_t values() const {
    return colour == PNG_COLOR_TYPE_RGB          ? 3
           : colour == PNG_COLOR_TYPE_RGB_ALPHA  ? 4
           : colour == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                                 : 1;
  }
  int64_t row_bytes() const { return (width * values() * depth + 7) / 8; }
};

std::string encode_png(const PngKind& kind, Pixels8 rows, int filters) {
  png_structp png = ::png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = ::png_create_info_struct(png);
  std::string file;
  const auto write = [](png_structp writer, png_bytep bytes, size_t size) {
    *static_cast<std::string*>(::png_get_io_ptr(writer)) += text_of(bytes, size);
  };
  ::png_set_write_fn(png, &file, write, nullptr);
  ::png_set_IHDR(png, info, static_cast<uint32_t>(kind.width), static_cast<uint32_t>(kind.height),
                 kind.depth, kind.colour,
                 kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> palette;
  if (kind.colour == PNG_COLOR_TYPE_PALETTE) {
    for (int k = 0; k < 1 << kind.depth; ++k) {
      const auto level = static_cast<png_byte>(k);
      palette.push_back(
          {level, static_cast<png_byte>(255 - level), static_cast<png_byte>(level ^ 0x55)});
    }
    ::png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  }
  ::png_set_filter(png, PNG_FILTER_TYPE_BASE, filters);
  std::vector<png_bytep> starts;
  for (int64_t y = 0; y < kind.height; ++y) starts.push_back(rows.data() + y * kind.row_bytes());
  ::png_set_rows(png, info, starts.data());
  ::png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  ::png_destroy_write_struct(&png, &info);
  return file;
}

/// As libpng gives them, transparency and the lower bytes of 16 bits left out.
Pixels8 libpng_pixels(const std::string& file, const PngKind& kind) {
  png_structp png = ::png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = ::png_create_info_struct(png);
  std::string_view rest = file;
  const auto read = [](png_structp reader, png_bytep bytes, size_t size) {
    auto& from = *static_cast<std::string_view*>(::png_get_io_ptr(reader));
    std::memcpy(bytes, from.data(), size);
    from.remove_prefix(size);
  };
  ::png_set_read_fn(png, &rest, read);
  ::png_read_png(png, info,
                 PNG_TRANSFORM_STRIP_16 | PNG_TRANSFORM_EXPAND | PNG_TRANSFORM_STRIP_ALPHA |
                     PNG_TRANSFORM_GRAY_TO_RGB,
                 nullptr);
  Pixels8 rgb;
  png_bytepp rows = ::png_get_rows(png, info);
  for (int64_t y = 0; y < kind.height; ++y)
    rgb.insert(rgb.end(), rows[y], rows[y] + 3 * kind.width);
  ::png_destroy_read_struct(&png, &info, nullptr);
  return rgb;
}

PngKind draw_png(Random& rng) {
  constexpr std::pair<int, int> kKinds[] = {
      {1, PNG_COLOR_TYPE_GRAY},        {2, PNG_COLOR_TYPE_GRAY},
      {4, PNG_COLOR_TYPE_GRAY},        {8, PNG_COLOR_TYPE_GRAY},
      {16, PNG_COLOR_TYPE_GRAY},       {8, PNG_COLOR_TYPE_RGB},
      {16, PNG_COLOR_TYPE_RGB},        {1, PNG_COLOR_TYPE_PALETTE},
      {2, PNG_COLOR_TYPE_PALETTE},     {4, PNG_COLOR_TYPE_PALETTE},
      {8, PNG_COLOR_TYPE_PALETTE},     {8, PNG_COLOR_TYPE_GRAY_ALPHA},
      {16, PNG_COLOR_TYPE_GRAY_ALPHA}, {8, PNG_COLOR_TYPE_RGB_ALPHA},
      {16, PNG_COLOR_TYPE_RGB_ALPHA}};
  const auto [depth, colour] = kKinds[rng.range(0, std::ssize(kKinds) - 1)];
  return {rng.range(1, 40), rng.range(1, 40), depth, colour, rng.chance(0.5)};
}

TEST(Png, IsWhatLibpngDecodes) {
  Random rng(2);
  for (int round = 0; round < 300; ++round) {
    const PngKind kind = draw_png(rng);
    const int filters = rng.chance(0.5) ? PNG_ALL_FILTERS : PNG_FILTER_PAETH;
    const std::string file =
        encode_png(kind, draw_pixels(rng, kind.height, kind.row_bytes(), 1), filters);
    const Decoded got = decode_as(file, Pixels::rgb);
    ASSERT_TRUE(got.outcome.good()) << got.outcome.reason;
    ASSERT_EQ(got.pixels, libpng_pixels(file, kind))
        << kind.height << " x " << kind.width << ", depth " << kind.depth << ", colour "
        << kind.colour << (kind.interlaced ? ", interlaced" : "");
  }
}

// ---- the others --------------------------------------------------------------------------------

std::string little(uint64_t value, int bytes) {
  std::string text;
  for (int k = 0; k < bytes; ++k) text.push_back(static_cast<char>(k < 8 ? value >> 8 * k : 0));
  return text;
}

/// Two rows of one pixel: 1 2 3, below it 4 5 6.
std::string bmp(int32_t height, uint32_t bits, const std::string& pixels, uint32_t packing = 0) {
  return "BM" + little(0, 8) + little(54, 4) + little(40, 4) + little(1, 4) +
         little(static_cast<uint32_t>(height), 4) + little(1, 2) + little(bits, 2) +
         little(packing, 4) + little(0, 20) + pixels;
}
const std::string kBmp = bmp(2, 24, std::string("\6\5\4\0\3\2\1\0", 8));

std::string tiff(uint32_t kind, uint32_t samples, const std::string& pixels, uint32_t packing = 1) {
  const uint32_t tags[][3] = {{256, 3, 1},       {257, 3, 2},    {258, 3, 8},
                              {259, 3, packing}, {262, 3, kind}, {273, 4, 8 + 2 + 8 * 12},
                              {277, 3, samples}, {278, 3, 2}};
  std::string text = std::string("II*\0", 4) + little(8, 4) + little(8, 2);
  for (const auto& [tag, type, value] : tags) {
    text += little(tag, 2) + little(type, 2) + little(1, 4) + little(value, 4);
  }
  return text + pixels;
}

const Pixels8 kExpected = {1, 2, 3, 4, 5, 6};

TEST(Bmp, RowsGoEitherWay) {
  EXPECT_EQ(decode_as(kBmp, Pixels::rgb).pixels, kExpected);
  const std::string down = bmp(-2, 32, std::string("\3\2\1\0\6\5\4\0", 8));
  EXPECT_EQ(decode_as(down, Pixels::rgb).pixels, kExpected);
}

TEST(Pnm, CommentsAndOtherMaxima) {
  EXPECT_EQ(decode_as("P6 # a picture\n1 2\n255\n\1\2\3\4\5\6", Pixels::rgb).pixels, kExpected);
  EXPECT_EQ(decode_as("P5 3 1 15 \1\5\17", Pixels::gray).pixels, (Pixels8{17, 85, 255}));
}

TEST(Tiff, GrayOfEitherKindAndColours) {
  EXPECT_EQ(decode_as(tiff(1, 1, "\1\2"), Pixels::gray).pixels, (Pixels8{1, 2}));
  EXPECT_EQ(decode_as(tiff(0, 1, "\1\2"), Pixels::gray).pixels, (Pixels8{254, 253}));
}

TEST(Picture, ColoursAndGray) {
  EXPECT_EQ(decode_as(kBmp, Pixels::bgr).pixels, (Pixels8{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(decode_as(kBmp, Pixels::gray).pixels, (Pixels8{2, 5}));
  EXPECT_EQ(decode_as("P5 1 1 255 \7", Pixels::bgr).pixels, (Pixels8{7, 7, 7}));
}

// ---- damage ------------------------------------------------------------------------------------

std::string reason(const std::string& file) {
  const Outcome outcome = decode_as(file, Pixels::rgb).outcome;
  constexpr std::string_view kCodes[] = {"ok", "damaged: ", "unsupported: ", "no memory: "};
  return concat(kCodes[static_cast<size_t>(outcome.code)], outcome.reason);
}

TEST(Picture, SaysWhatIsWrong) {
  EXPECT_EQ(reason("GIF89a"), "damaged: the bytes are no picture in a format that is known");
  EXPECT_EQ(reason("RIFF"), "unsupported: WebP pictures");
  EXPECT_EQ(reason("\xff\x4f\xff\x51"), "unsupported: JPEG 2000 pictures");
  EXPECT_EQ(reason("P5 70000 70000 255 "), "unsupported: pictures of more than 2^28 pixels");
  EXPECT_EQ(reason("P5 0 1 255 "), "damaged: the picture has no pixels");
  EXPECT_EQ(reason("P5 1 1"), "damaged: PNM: expected a header of three numbers");
  EXPECT_EQ(reason("P5 1 1 1000 \1\1"), "unsupported: PNM files with two bytes a value");
  EXPECT_EQ(reason("P5 2 1 255 \1"), "damaged: PNM: the pixels are cut off");
  EXPECT_EQ(reason(kBmp.substr(0, 60)), "damaged: BMP: the pixels are cut off");
  EXPECT_EQ(reason(kBmp.substr(0, 30)), "damaged: BMP: the header is cut off");
  EXPECT_EQ(reason(bmp(1, 4, "")),
            "unsupported: BMP files but of 8, 24 or 32 bits that are not compressed");
  EXPECT_EQ(reason("BM" + std::string(12, '\0') + little(12, 4)),
            "unsupported: BMP files with headers of OS/2");
  EXPECT_EQ(reason(tiff(1, 1, "\1")), "damaged: TIFF: the pixels are cut off");
  EXPECT_EQ(reason(tiff(1, 1, "", 5)), "unsupported: compressed TIFF files");
  EXPECT_EQ(reason(tiff(6, 3, "")), "unsupported: TIFF files but of gray or RGB");
  EXPECT_EQ(reason(tiff(2, 3, "")), "unsupported: TIFF files but of 8 bits a value");
  EXPECT_EQ(reason(tiff(1, 9, "")), "damaged: TIFF: a wrong number of values a pixel");
}

TEST(Picture, SaysWhatIsWrongWithPngAndJpeg) {
  const std::string png =
      encode_png({9, 9, 8, PNG_COLOR_TYPE_GRAY, false}, Pixels8(81, 7), PNG_NO_FILTERS);
  EXPECT_EQ(reason(png.substr(0, 20)), "damaged: PNG: the header is missing");
  EXPECT_EQ(reason(png.substr(0, png.size() - 12)), "damaged: PNG: the file is cut off");
  std::string other = png;
  other[24] = 3;
  EXPECT_EQ(reason(other), "damaged: PNG: the header says what there is not");
  other = png;
  other[43] = 0x7f;
  EXPECT_EQ(reason(other), "damaged: a packed stream is damaged");
  other[41] = 0;
  EXPECT_EQ(reason(other), "damaged: a packed stream is not zlib's");
  other = png;
  ++other[23];
  EXPECT_EQ(reason(other), "damaged: a packed stream is too short");

  const std::string jpeg = encode_jpeg({9, 9, TJSAMP_420, 90, false}, Pixels8(243, 7));
  EXPECT_EQ(reason("\xff\xd8\xff\xd9"), "damaged: JPEG: there is no picture");
  EXPECT_EQ(reason("\xff\xd8\xff\xc3" + little(0x200, 2)),
            "unsupported: JPEG files but of the baseline or progressive kind, Huffman coded");
  EXPECT_EQ(reason(jpeg.substr(0, 30)), "damaged: JPEG: a segment is cut off");
  EXPECT_EQ(reason(jpeg.substr(0, jpeg.size() - 2)), "damaged: JPEG: the file is cut off");
  EXPECT_EQ(reason(jpeg.substr(0, jpeg.size() - 6)),
            "damaged: JPEG: the pixels are damaged or cut off");
  other = encode_jpeg({9, 40, TJSAMP_444, 90, false, 2}, Pixels8(1080, 7));
  other[other.find("\xff\xd0") + 1] = 0;
  EXPECT_EQ(reason(other), "damaged: JPEG: the marker of a restart is missing");
  const size_t frame = jpeg.find("\xff\xc0");
  other = jpeg;
  other[frame + 4] = 12;
  EXPECT_EQ(reason(other), "unsupported: JPEG files but of 8 bits a value");
  other = jpeg;
  other[frame + 9] = 2;
  EXPECT_EQ(reason(other), "unsupported: JPEG files but of gray or three colours");
}

TEST(Picture, DamagedBytesDoNoHarm) {
  Random rng(3);
  std::vector<std::string> files = {kBmp, tiff(1, 1, "\1\2"), "P5 3 1 15 \1\5\17"};
  for (int k = 0; k < 6; ++k) {
    const JpegKind jpeg = draw_jpeg(rng);
    files.push_back(encode_jpeg(jpeg, draw_pixels(rng, jpeg.height, jpeg.width, 3)));
    const PngKind png = draw_png(rng);
    files.push_back(
        encode_png(png, draw_pixels(rng, png.height, png.row_bytes(), 1), PNG_ALL_FILTERS));
  }
  for (const std::string& file : files) {
    for (size_t size = 0; size < file.size(); size += 1 + size / 50) {
      EXPECT_FALSE(decode_as(file.substr(0, size), Pixels::rgb).outcome.good()) << size;
    }
    for (int round = 0; round < 100; ++round) {
      std::string other = file;
      for (int64_t flips = rng.range(1, 4); flips > 0; --flips) {
        other[static_cast<size_t>(rng.range(0, std::ssize(file) - 1))] =
            static_cast<char>(rng.range(0, 255));
      }
      (void)decode_as(other, Pixels::gray);
    }
  }
}

}  // namespace
}  // namespace ingot::picture
