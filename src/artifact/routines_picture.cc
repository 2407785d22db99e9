// artifact/routines_picture.cc: files of pictures.
#include "artifact/routines.h"
#include "ingot/ingot.h"
#include "picture/picture.h"

namespace ingot::artifact {

extern "C" int ingot_decode_picture(RoutineArgs& args, const RoutineTensor* inputs) {
  const auto* bytes = static_cast<const u8*>(args.values[0]);
  const i64 size = inputs[0].dims[0];
  picture::Picture picture;
  const picture::Outcome outcome =
      size == 0 ? picture::Outcome() : picture::decode(bytes, size, picture);
  if (!outcome.good()) {
    *args.error = outcome.reason;
    return outcome.code == picture::Code::no_memory     ? INGOT_RESOURCE_EXHAUSTED
           : outcome.code == picture::Code::unsupported ? INGOT_UNSUPPORTED
                                                        : INGOT_INVALID_ARGUMENT;
  }
  args.symbols[args.first_symbol] = picture.height;
  args.symbols[args.first_symbol + 1] = picture.width;
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  picture.write(static_cast<picture::Pixels>(args.attributes[0]), static_cast<u8*>(args.values[1]));
  return INGOT_OK;
}

}  // namespace ingot::artifact
