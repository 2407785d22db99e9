// frontend/onnx/wire.cc: reads the messages of onnx.proto3 field by field.
#include "frontend/onnx/wire.h"

#include <protozero/pbf_reader.hpp>
#include <protozero/types.hpp>

namespace ingot::onnx {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

/// A field whose wire type is not what its number means.
struct WrongWireType {};

/// One message being read: next() moves to a field, the getters check its wire type.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : reader_(bytes.data(), bytes.size()) {}

  bool next() { return reader_.next(); }
  uint32_t number() const { return reader_.tag(); }
  void skip() { reader_.skip(); }

  std::string_view bytes() {
    expect(pbf_wire_type::length_delimited);
    const protozero::data_view view = reader_.get_view();
    return {view.data(), view.size()};
  }
  int64_t integer() {
    expect(pbf_wire_type::varint);
    return reader_.get_int64();
  }
  float real() {
    expect(pbf_wire_type::fixed32);
    return reader_.get_float();
  }
  double real64() {
    expect(pbf_wire_type::fixed64);
    return reader_.get_double();
  }

  /// Every element of a repeated scalar, packed or not.
  template <class Fn>
  void integers(Fn fn) {
    if (reader_.wire_type() == pbf_wire_type::varint) return fn(reader_.get_int64());
    expect(pbf_wire_type::length_delimited);
    for (const int64_t value : reader_.get_packed_int64()) fn(value);
  }
  template <class Fn>
  void reals(Fn fn) {
    if (reader_.wire_type() == pbf_wire_type::fixed32) return fn(reader_.get_float());
    expect(pbf_wire_type::length_delimited);
    for (const float value : reader_.get_packed_float()) fn(value);
  }
  template <class Fn>
  void reals64(Fn fn) {
    if (reader_.wire_type() == pbf_wire_type::fixed64) return fn(reader_.get_double());
    expect(pbf_wire_type::length_delimited);
    for (const double value : reader_.get_packed_double()) fn(value);
  }

 private:
  void expect(pbf_wire_type type) {
    if (reader_.wire_type() != type) throw WrongWireType{};
  }
  pbf_reader reader_;
};

/// Runs `parse`, turning what protozero throws into an Error: the only place where it is caught.
template <class Fn>
auto guarded(std::string_view what, Fn parse) -> Result<decltype(parse())> {
  try {
    return parse();
  } catch (const protozero::exception&) {
    return invalid_model("the file is damaged: a ", what,
                         " ends too early or holds bytes that are not protobuf");
  } catch (const WrongWireType&) {
    return invalid_model("the file is damaged: a field of a ", what, " has the wrong wire type");
  }
}

StringPair parse_pair(std::string_view bytes) {
  StringPair pair;
  Fields f(bytes);
  while (f.next()) {
    switch (f.number()) {
      case 1:
        pair.key = f.bytes();
        break;
      case 2:
        pair.value = f.bytes();
        break;
      default:
        f.skip();
    }
  }
  return pair;
}

TensorProto parse_tensor(std::string_view bytes) {
  TensorProto tensor;
  tensor.bytes = bytes;
  Fields f(bytes);
  while (f.next()) {
    switch (f.number()) {
      case 1:
        f.integers([&](int64_t dim) { tensor.dims.push_back(dim); });
        break;
      case 2:
        tensor.data_type = f.integer();
        break;
      case 3:
        tensor.is_segment = true;
        f.skip();
        break;
      case 8:
        tensor.name = f.bytes();
        break;
      case 9:
        tensor.raw_data = f.bytes();
        tensor.has_raw_data = true;
        break;
      case 13:
        tensor.external_data.push_back(parse_pair(f.bytes()));
        break;
      case 14:
        tensor.is_external = f.integer() == 1;
        break;
      default:
        f.skip();
    }
  }
  return tensor;
}

SparseTensorProto parse_sparse_tensor(std::string_view bytes) {
  SparseTensorProto sparse;
  Fields f(bytes);
  while (f.next()) {
    switch (f.number()) {
      case 1:
        sparse.values = parse_tensor(f.bytes());
        break;
      case 2:
        sparse.indices = parse_tensor(f.bytes());
        break;
      case 3:
        f.integers([&](int64_t dim) { sparse.dims.push_back(dim); });
        break;
      default:
        f.skip();
    }
  }
  return sparse;
}

AttributeProto parse_attribute(std::string_view bytes) {
  AttributeProto a;
  AttributeType seen = AttributeType::undefined;
  const auto one = [&](AttributeType type, std::string_view value) {
    a.s = value;
    seen = type;
  };
  const auto many = [&](AttributeType type, std::string_view value) {
    a.strings.push_back(value);
    seen = type;
  };
  Fields f(bytes);
  while (f.next()) {
    switch (f.number()) {
      case 1:
        a.name = f.bytes();
        break;
      case 2:
        a.f = f.real();
        seen = AttributeType::float_;
        break;
      case 3:
        a.i = f.integer();
        seen = AttributeType::int_;
        break;
      case 4:
        one(AttributeType::string, f.bytes());
        break;
      case 5:
        one(AttributeType::tensor, f.bytes());
        break;
      case 6:
        one(AttributeType::graph, f.bytes());
        break;
      case 7:
        f.reals([&](float value) { a.floats.push_back(value); });
        seen = AttributeType::floats;
        break;
      case 8:
        f.integers([&](int64_t value) { a.ints.push_back(value); });
        seen = AttributeType::ints;
        break;
      case 9:
        many(AttributeType::strings, f.bytes());
        break;
      case 10:
        many(AttributeType::tensors, f.bytes());
        break;
      case 11:
        many(AttributeType::graphs, f.bytes());
        break;
      case 14:
        one(AttributeType::type, f.bytes());
        break;
      case 15:
        many(AttributeType::types, f.bytes());
        break;
      case 20: {
        const int64_t type = f.integer();
        if (type >= 0 && type <= 14) a.type = static_cast<AttributeType>(type);
        break;
      }
      case 21:
        a.ref_attr_name = f.bytes();
        break;
      case 22:
        one(AttributeType::sparse_tensor, f.bytes());
        break;
      case 23:
        many(AttributeType::sparse_tensors, f.bytes());
        break;
      default:
        f.skip();
    }
  }
  if (a.type == AttributeType::undefined) a.type = seen;  // IR 1 files carry no type
  return a;
}

NodeProto parse_node(std::string_view bytes) {
  NodeProto node;
  Fields f(bytes);
  while (f.next()) {
    switch (f.number()) {
      case 1:
        node.inputs.push_back(f.bytes());
        break;
      case 2:
        node.outputs.push_back(f.bytes());
        break;
      case 3:
        node.name = f.bytes();
        break;
      case 4:
        node.op_type = f.bytes();
        break;
      case 5:
        node.attributes.push_back(parse_attribute(f.bytes()));
        break;
      case 7:
        node.domain = f.bytes();
        break;
      case 8:
        node.overload = f.bytes();
        break;
      default:
        f.skip();
    }
  }
  return node;
}

DimProto parse_dim(std::string_view bytes) {
  DimProto dim;
  Fields f(bytes);
  while (f.next()) {
    switch (f.number()) {
      case 1:
        dim.value = f.integer();
        dim.param = {};
        break;
      case 2:
        dim.param = f.bytes();
        dim.value = std::nullopt;
        break;
      default:
        f.skip();
    }
  }
  return dim;
}

/// TypeProto.Tensor and TypeProto.SparseTensor, which look the same.
void parse_tensor_type(std::string_view bytes, TypeProto& type) {
  Fields f(bytes);
  while (f.next()) {
    switch (f.number()) {
      case 1:
        type.elem_type = f.integer();
        break;
      case 2: {
        type.has_shape = true;
        type.dims.clear();
        Fields shape(f.bytes());
        while (shape.next()) {
          if (shape.number() == 1) {
            type.dims.push_back(parse_dim(shape.bytes()));
          } else {
            shape.skip();
          }
        }
        break;
      }
      default:
        f.skip();
    }
  }
}

TypeProto parse_type(std::string_view bytes) {
  TypeProto type;
  const auto element = [&](TypeProto::Kind kind, std::string_view container) {
    type.kind = kind;
    Fields inner(container);
    while (inner.next()) {
      if (inner.number() == 1 && kind == TypeProto::Kind::map) {
        type.elem_type = inner.integer();
      } else if (inner.number() == (kind == TypeProto::Kind::map ? 2u : 1u)) {
        type.element = inner.bytes();
      } else {
        inner.skip();
      }
    }
  };
  Fields f(bytes);
  while (f.next()) {
    switch (f.number()) {
      case 1:
        type.kind = TypeProto::Kind::tensor;
        parse_tensor_type(f.bytes(), type);
        break;
      case 4:
        element(TypeProto::Kind::sequence, f.bytes());
        break;
      case 5:
        element(TypeProto::Kind::map, f.bytes());
        break;
      case 7:
        type.kind = TypeProto::Kind::opaque;
        f.skip();
        break;
      case 8:
        type.kind = TypeProto::Kind::sparse_tensor;
        parse_tensor_type(f.bytes(), type);
        break;
      case 9:
        element(TypeProto::Kind::optional, f.bytes());
        break;
      default:
        f.skip();
    }
  }
  return type;
}

ValueInfoProto parse_value_info(std::string_view bytes) {
  ValueInfoProto info;
  Fields f(bytes);
  while (f.next()) {
    switch (f.number()) {
      case 1:
        info.name = f.bytes();
        break;
      case 2:
        info.type = parse_type(f.bytes());
        break;
      default:
        f.skip();
    }
  }
  return info;
}

GraphProto parse_graph(std::string_view bytes) {
  GraphProto graph;
  Fields f(bytes);
  while (f.next()) {
    switch (f.number()) {
      case 1:
        graph.nodes.push_back(parse_node(f.bytes()));
        break;
      case 2:
        graph.name = f.bytes();
        break;
      case 5:
        graph.initializers.push_back(parse_tensor(f.bytes()));
        break;
      case 11:
        graph.inputs.push_back(parse_value_info(f.bytes()));
        break;
      case 12:
        graph.outputs.push_back(parse_value_info(f.bytes()));
        break;
      case 13:
        graph.value_infos.push_back(parse_value_info(f.bytes()));
        break;
      case 15:
        graph.sparse_initializers.push_back(parse_sparse_tensor(f.bytes()));
        break;
      default:
        f.skip();
    }
  }
  return graph;
}

OperatorSetId parse_opset(std::string_view bytes) {
  OperatorSetId id;
  Fields f(bytes);
  while (f.next()) {
    switch (f.number()) {
      case 1:
        id.domain = f.bytes();
        break;
      case 2:
        id.version = f.integer();
        break;
      default:
        f.skip();
    }
  }
  return id;
}

FunctionProto parse_function(std::string_view bytes) {
  FunctionProto function;
  Fields f(bytes);
  while (f.next()) {
    switch (f.number()) {
      case 1:
        function.name = f.bytes();
        break;
      case 4:
        function.inputs.push_back(f.bytes());
        break;
      case 5:
        function.outputs.push_back(f.bytes());
        break;
      case 6:
        function.attributes.push_back(f.bytes());
        break;
      case 7:
        function.nodes.push_back(parse_node(f.bytes()));
        break;
      case 9:
        function.opset_imports.push_back(parse_opset(f.bytes()));
        break;
      case 10:
        function.domain = f.bytes();
        break;
      case 11:
        function.attribute_defaults.push_back(parse_attribute(f.bytes()));
        break;
      case 13:
        function.overload = f.bytes();
        break;
      default:
        f.skip();
    }
  }
  return function;
}

ModelProto parse_model(std::string_view bytes) {
  ModelProto model;
  Fields f(bytes);
  while (f.next()) {
    switch (f.number()) {
      case 1:
        model.ir_version = f.integer();
        break;
      case 2:
        model.producer_name = f.bytes();
        break;
      case 3:
        model.producer_version = f.bytes();
        break;
      case 4:
        model.domain = f.bytes();
        break;
      case 5:
        model.model_version = f.integer();
        break;
      case 6:
        model.doc_string = f.bytes();
        break;
      case 7:
        model.graph = parse_graph(f.bytes());
        break;
      case 8:
        model.opset_imports.push_back(parse_opset(f.bytes()));
        break;
      case 14:
        model.metadata.push_back(parse_pair(f.bytes()));
        break;
      case 20:
        model.has_training_info = true;
        f.skip();
        break;
      case 25:
        model.functions.push_back(parse_function(f.bytes()));
        break;
      default:
        f.skip();
    }
  }
  return model;
}

}  // namespace

std::string_view to_text(AttributeType type) {
  static constexpr std::string_view kNames[] = {
      "nothing", "a float",         "an int",         "a string", "a tensor",
      "a graph", "floats",          "ints",           "strings",  "tensors",
      "graphs",  "a sparse tensor", "sparse tensors", "a type",   "types"};
  return kNames[static_cast<size_t>(type)];
}

Result<ModelProto> read_model(std::string_view bytes) {
  return guarded("model", [&] { return parse_model(bytes); });
}
Result<GraphProto> read_graph(std::string_view bytes) {
  return guarded("graph", [&] { return parse_graph(bytes); });
}
Result<TensorProto> read_tensor(std::string_view bytes) {
  return guarded("tensor", [&] { return parse_tensor(bytes); });
}
Result<ContainerProto> read_container(std::string_view bytes) {
  return guarded("sequence or optional", [&] {
    ContainerProto container;
    Fields f(bytes);
    while (f.next()) {
      switch (f.number()) {
        case 2:
          container.elem_type = f.integer();
          break;
        case 3:
          container.tensors.push_back(f.bytes());
          break;
        case 5:
          container.sequences.push_back(f.bytes());
          break;
        case 6:
          container.maps.push_back(f.bytes());
          break;
        case 4:
        case 7:
          container.has_other = true;
          f.skip();
          break;
        default:
          f.skip();
      }
    }
    return container;
  });
}
Result<MapProto> read_map(std::string_view bytes) {
  return guarded("map", [&] {
    MapProto map;
    Fields f(bytes);
    while (f.next()) {
      switch (f.number()) {
        case 2:
          map.key_type = f.integer();
          break;
        case 3:
          f.integers([&](int64_t key) { map.keys.push_back(key); });
          break;
        case 4:
          map.string_keys.emplace_back(f.bytes());
          break;
        case 5:
          map.values = f.bytes();
          break;
        default:
          f.skip();
      }
    }
    return map;
  });
}
Result<SparseTensorProto> read_sparse_tensor(std::string_view bytes) {
  return guarded("sparse tensor", [&] { return parse_sparse_tensor(bytes); });
}
Result<TypeProto> read_type(std::string_view bytes) {
  return guarded("type", [&] { return parse_type(bytes); });
}

Status read_elements(std::string_view tensor_bytes, ElementSink& sink) {
  const auto done = guarded("tensor", [&] {
    Fields f(tensor_bytes);
    while (f.next()) {
      switch (f.number()) {
        case 4:
          f.reals([&](float value) { sink.on_float(value); });
          break;
        case 5:
          f.integers([&](int64_t value) { sink.on_int32(static_cast<int32_t>(value)); });
          break;
        case 6:
          sink.on_string(f.bytes());
          break;
        case 7:
          f.integers([&](int64_t value) { sink.on_int64(value); });
          break;
        case 10:
          f.reals64([&](double value) { sink.on_double(value); });
          break;
        case 11:
          f.integers([&](int64_t value) { sink.on_uint64(static_cast<uint64_t>(value)); });
          break;
        default:
          f.skip();
      }
    }
    return true;
  });
  if (!done) return done.error();
  return ok();
}

}  // namespace ingot::onnx
