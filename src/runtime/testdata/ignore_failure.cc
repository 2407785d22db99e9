// runtime/testdata/ignore_failure.cc: must not compile with -Werror: a failure cannot be
// overlooked.
#include "ingot/ingot.hpp"

void ignore() {
  ingot::api::Model::load("model.so");
}
