/* examples/embed_c/main.c: a compiled model from C: draws a ring and a bar, and asks which digits
 * they are.
 *
 * Usage: embed_c digits.so      (ingot compile examples/digits/digits.onnx -o digits.so) */
#include <stdio.h>

#include "ingot/loader.h"

int main(int argc, char** argv) {
  static float images[2][1][32][32], probabilities[2][10];
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) {
      const int radius = 2 * (x - 16) * (x - 16) + (y - 16) * (y - 16);
      images[0][0][y][x] = radius >= 70 && radius <= 140;
      images[1][0][y][x] = x > 12 && x < 20 && y > 4 && y < 28;
    }
  }
  int64_t image_dims[] = {2, 1, 32, 32}, probability_dims[] = {2, 10};
  const ingot_tensor input = {.struct_size = sizeof input,
                              .dtype = INGOT_FLOAT32,
                              .rank = 4,
                              .data = images,
                              .dims = image_dims};
  ingot_tensor output = {.struct_size = sizeof output,
                         .dtype = INGOT_FLOAT32,
                         .rank = 2,
                         .data = probabilities,
                         .dims = probability_dims};

  ingot_loaded model = INGOT_INIT(ingot_loaded);
  if (argc != 2 || ingot_open_file(argv[1], NULL, &model) != INGOT_OK) {
    fprintf(stderr, "embed_c: %s\n", argc == 2 ? ingot_loader_error() : "expected a model");
    return 1;
  }
  const ingot_status status = model.api->run(model.model, &input, 1, &output, 1, NULL);
  if (status != INGOT_OK) fprintf(stderr, "embed_c: %s\n", model.api->last_error());
  ingot_close(&model);
  for (int i = 0; i < 2 && status == INGOT_OK; ++i) {
    int best = 0;
    for (int k = 1; k < 10; ++k) best = probabilities[i][k] > probabilities[i][best] ? k : best;
    printf("%s: %d (%.1f %%)\n", i == 0 ? "ring" : "bar", best, 100 * probabilities[i][best]);
  }
  return status != INGOT_OK;
}
