// frontend/onnx/wire.h: an ONNX protobuf as plain structs of views into its bytes.
//
// Nothing is copied but scalars; sub-messages that are rarely read (tensors' contents, subgraphs)
// stay bytes until asked for, so reading costs a small multiple of the file's size. Every length is
// checked by protozero, every wire type here; unknown fields are skipped. The views live as long as
// the bytes. Source: onnx.proto3 and onnx-data.proto of ONNX 1.22.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ingot::onnx {

/// Subgraphs in attributes, types in types: how deep they may nest.
inline constexpr int kMaxDepth = 64;

struct StringPair {
  std::string_view key;
  std::string_view value;
};

/// TensorProto. `dims`, type and places only; tensor_data.h decodes the elements.
struct TensorProto {
  std::string_view name;
  int64_t data_type = 0;
  std::vector<int64_t> dims;
  std::string_view raw_data;
  bool has_raw_data = false;
  bool is_external = false;
  bool is_segment = false;
  std::vector<StringPair> external_data;
  std::string_view bytes;  // the whole message, for the typed fields
};

/// SequenceProto and OptionalProto: the messages of what is in them. Of an optional at most one.
struct ContainerProto {
  int64_t elem_type = 0;  // 1 a tensor, 3 a sequence, 4 a map
  std::vector<std::string_view> tensors;
  std::vector<std::string_view> sequences;
  std::vector<std::string_view> maps;
  bool has_other = false;  // sparse tensors, optionals
};

/// MapProto: `values` is a SequenceProto of as many tensors of one element as there are keys.
struct MapProto {
  int64_t key_type = 0;
  std::vector<int64_t> keys;
  std::vector<std::string> string_keys;  // or these
  std::string_view values;
};

struct SparseTensorProto {
  TensorProto values;
  TensorProto indices;
  std::vector<int64_t> dims;
};

/// AttributeProto.AttributeType.
enum class AttributeType : uint8_t {
  undefined = 0,
  float_ = 1,
  int_ = 2,
  string = 3,
  tensor = 4,
  graph = 5,
  floats = 6,
  ints = 7,
  strings = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  type = 13,
  types = 14,
};
std::string_view to_text(AttributeType type);

struct AttributeProto {
  std::string_view name;
  std::string_view ref_attr_name;  // in function bodies: the caller's attribute of that name
  AttributeType type = AttributeType::undefined;  // as declared, or as the fields say (IR 1)
  double f = 0;
  int64_t i = 0;
  std::string_view s;  // or the bytes of a tensor, graph, sparse tensor or type
  std::vector<double> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;  // or the bytes of tensors, graphs, ...
};

struct NodeProto {
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::string_view name;
  std::string_view op_type;
  std::string_view domain;
  std::string_view overload;
  std::vector<AttributeProto> attributes;
};

/// TensorShapeProto.Dimension: a value, a name, or neither.
struct DimProto {
  std::optional<int64_t> value;
  std::string_view param;
};

/// TypeProto. For sequences and optionals `element` is the bytes of the element's TypeProto.
struct TypeProto {
  enum class Kind : uint8_t { none, tensor, sparse_tensor, sequence, map, optional, opaque };
  Kind kind = Kind::none;
  int64_t elem_type = 0;  // tensors; the key type of maps
  bool has_shape = false;
  std::vector<DimProto> dims;
  std::string_view element;
};

struct ValueInfoProto {
  std::string_view name;
  TypeProto type;
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<SparseTensorProto> sparse_initializers;
  std::vector<ValueInfoProto> inputs;
  std::vector<ValueInfoProto> outputs;
  std::vector<ValueInfoProto> value_infos;
};

struct OperatorSetId {
  std::string_view domain;
  int64_t version = 0;
};

struct FunctionProto {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<std::string_view> attributes;  // names without a default
  std::vector<AttributeProto> attribute_defaults;
  std::vector<NodeProto> nodes;
  std::vector<OperatorSetId> opset_imports;
};

struct ModelProto {
  int64_t ir_version = 0;
  std::string_view producer_name;
  std::string_view producer_version;
  std::string_view domain;
  int64_t model_version = 0;
  std::string_view doc_string;
  std::optional<GraphProto> graph;
  std::vector<OperatorSetId> opset_imports;
  std::vector<StringPair> metadata;
  std::vector<FunctionProto> functions;
  bool has_training_info = false;
};

/// The message behind the bytes. Errors: invalid_model, saying which message is damaged.
Result<ModelProto> read_model(std::string_view bytes);
Result<GraphProto> read_graph(std::string_view bytes);
Result<TensorProto> read_tensor(std::string_view bytes);
Result<ContainerProto> read_container(std::string_view bytes);
Result<MapProto> read_map(std::string_view bytes);
Result<SparseTensorProto> read_sparse_tensor(std::string_view bytes);
Result<TypeProto> read_type(std::string_view bytes);

/// The typed element fields of a TensorProto's bytes (float_data, int32_data, string_data,
/// int64_data, double_data, uint64_data), packed or not, called in the order of the file.
struct ElementSink {
  virtual ~ElementSink() = default;
  virtual void on_float(float value) = 0;
  virtual void on_double(double value) = 0;
  virtual void on_int32(int32_t value) = 0;
  virtual void on_int64(int64_t value) = 0;
  virtual void on_uint64(uint64_t value) = 0;
  virtual void on_string(std::string_view value) = 0;
};
Status read_elements(std::string_view tensor_bytes, ElementSink& sink);

}  // namespace ingot::onnx
