// examples/voice_activity/main.cc: tells when someone speaks, while it listens: samples come from
// standard input, the network's state goes from frame to frame.
//
// Usage: arecord -q -t raw -f S16_LE -r 16000 | voice_activity MODEL.so [--probabilities]
#include <cstdio>
#include <cstring>

#include "ingot/ingot.hpp"

namespace {

using ingot::api::Tensor;

constexpr size_t kFrame = 512;    // new samples in a frame, 32 ms at 16 kHz
constexpr size_t kContext = 64;   // samples of the frame before, in front of them
constexpr size_t kState = 256;    // h and c of the network's recurrent cell
constexpr int64_t kRate = 16000;  // samples a second
constexpr double kSeconds = static_cast<double>(kFrame) / kRate;

/// The next frame of standard input behind the end of the one before; false at the end. Samples
/// behind the last whole frame are left out.
bool read_frame(std::span<float> input) {
  int16_t samples[kFrame];
  if (std::fread(samples, sizeof(int16_t), kFrame, stdin) != kFrame) return false;
  std::memmove(input.data(), input.data() + kFrame, kContext * sizeof(float));
  for (size_t k = 0; k < kFrame; ++k) input[kContext + k] = static_cast<float>(samples[k]) / 32768;
  return true;
}

/// Speech begins with a frame of probability 0.5, and ends with the first of four, an eighth of a
/// second, that stay below 0.35.
class Segments {
 public:
  void add(int frame, float probability) {
    if (!speaking_ && probability >= 0.5f) {
      speaking_ = true;
      begin_ = end_ = frame;
    }
    if (speaking_ && probability >= 0.35f) end_ = frame + 1;
    if (speaking_ && frame + 1 - end_ >= 4) finish();
  }
  void finish() {
    if (speaking_)
      std::printf("speech from %.2f s to %.2f s\n", begin_ * kSeconds, end_ * kSeconds);
    std::fflush(stdout);
    speaking_ = false;
  }

 private:
  bool speaking_ = false;
  int begin_ = 0, end_ = 0;  // frames
};

}  // namespace

int main(int argc, char** argv) {
  const bool shows_all = argc == 3 && std::strcmp(argv[2], "--probabilities") == 0;
  if (argc != 2 && !shows_all) {
    std::fprintf(stderr, "usage: voice_activity MODEL.so [--probabilities] < SAMPLES\n");
    return 2;
  }
  const auto model = ingot::api::Model::load(argv[1]);
  if (!model) {
    std::fprintf(stderr, "voice_activity: %s\n", model.failure().message.c_str());
    return 1;
  }
  std::vector<float> input(kContext + kFrame), state(kState), next_state(kState);
  float probability = 0;
  int64_t rate = kRate;
  Segments segments;
  for (int frame = 0; read_frame(input); ++frame) {
    const auto done =
        model->run({Tensor(std::span(input), {1, kContext + kFrame}),
                    Tensor(std::span(state), {2, 1, kState / 2}), Tensor(std::span(&rate, 1), {})},
                   {Tensor(std::span(&probability, 1), {1, 1}),
                    Tensor(std::span(next_state), {2, 1, kState / 2})});
    if (!done) {
      std::fprintf(stderr, "voice_activity: %s\n", done.failure().message.c_str());
      return 1;
    }
    std::swap(state, next_state);
    if (shows_all) {
      std::printf("%.6f\n", probability);
    } else {
      segments.add(frame, probability);
    }
  }
  segments.finish();
  return 0;
}
