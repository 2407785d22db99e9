// cli/host_map.h: maps in files and as JSON.
#pragma once

#include <memory>

#include "base/file.h"
#include "cli/host_tensor.h"
#include "frontend/onnx/wire.h"

namespace ingot::cli {

/// A MapProto. Errors: invalid_model; unsupported for keys that are neither i64 nor strings.
Result<HostTensor> decode_map(std::string_view bytes,
                              const std::shared_ptr<const MappedFile>& owner);
/// A sequence of maps, all of one type.
Result<HostTensor> decode_maps(const onnx::ContainerProto& proto,
                               const std::shared_ptr<const MappedFile>& owner,
                               HostTensor::Kind kind);
/// A map as a MapProto.
std::string format_map(const HostTensor& map, std::string_view name);
/// An object whose names are the keys; of equal ones the last counts.
Json map_json(const HostTensor& map);

}  // namespace ingot::cli
