// frontend/test_model.h: writes ONNX messages field by field, for tests of readers.
#pragma once

#include <initializer_list>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ingot::testing {

using Strings = std::vector<std::string>;
using Ints = std::vector<int64_t>;

/// A message under construction: Message().text(3, "name").number(4, 1).bytes.
struct Message {
  std::string bytes;

  Message& number(uint32_t field, int64_t value) {
    protozero::pbf_writer(bytes).add_int64(field, value);
    return *this;
  }
  Message& real(uint32_t field, float value) {
    protozero::pbf_writer(bytes).add_float(field, value);
    return *this;
  }
  Message& text(uint32_t field, std::string_view value) {
    protozero::pbf_writer(bytes).add_bytes(field, value.data(), value.size());
    return *this;
  }
  Message& texts(uint32_t field, const Strings& values) {
    for (const std::string& value : values) text(field, value);
    return *this;
  }
  Message& numbers(uint32_t field, const Ints& values) {  // packed
    protozero::pbf_writer(bytes).add_packed_int64(field, values.begin(), values.end());
    return *this;
  }
};

/// TensorProto of raw data.
inline std::string raw_tensor(std::string_view name, int64_t type, const Ints& dims,
                              std::string_view raw) {
  return Message().numbers(1, dims).number(2, type).text(8, name).text(9, raw).bytes;
}
template <class T>
std::string tensor_of(std::string_view name, int64_t type, const Ints& dims,
                      const std::vector<T>& values) {
  return raw_tensor(name, type, dims,
                    {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}
inline std::string floats(std::string_view name, const Ints& dims,
                          const std::vector<float>& values) {
  return tensor_of(name, 1, dims, values);
}
inline std::string int64s(std::string_view name, const Ints& values) {
  return tensor_of(name, 7, {static_cast<int64_t>(values.size())}, values);
}

/// ValueInfoProto of a tensor; a dim is a number, a name, or an empty name for neither.
using Dim = std::variant<int64_t, std::string>;
inline std::string value_info(std::string_view name, int64_t type, const std::vector<Dim>& dims) {
  Message shape;
  for (const Dim& dim : dims) {
    Message one;
    if (const auto* value = std::get_if<int64_t>(&dim)) {
      one.number(1, *value);
    } else if (!std::get<std::string>(dim).empty()) {
      one.text(2, std::get<std::string>(dim));
    }
    shape.text(1, one.bytes);
  }
  const Message tensor = Message().number(1, type).text(2, shape.bytes);
  return Message().text(1, name).text(2, Message().text(1, tensor.bytes).bytes).bytes;
}

inline std::string attr_int(std::string_view name, int64_t value) {
  return Message().text(1, name).number(3, value).number(20, 2).bytes;
}
inline std::string attr_float(std::string_view name, float value) {
  return Message().text(1, name).real(2, value).number(20, 1).bytes;
}
inline std::string attr_ints(std::string_view name, const Ints& values) {
  return Message().text(1, name).numbers(8, values).number(20, 7).bytes;
}
inline std::string attr_floats(std::string_view name, const std::vector<float>& values) {
  Message m = Message().text(1, name);
  protozero::pbf_writer(m.bytes).add_packed_float(7, values.begin(), values.end());
  return m.number(20, 6).bytes;
}
inline std::string attr_texts(std::string_view name, const Strings& values) {
  return Message().text(1, name).texts(9, values).number(20, 8).bytes;
}
inline std::string attr_text(std::string_view name, std::string_view value) {
  return Message().text(1, name).text(4, value).number(20, 3).bytes;
}
inline std::string attr_graph(std::string_view name, std::string_view graph) {
  return Message().text(1, name).text(6, graph).number(20, 5).bytes;
}
/// A reference to the attribute `of` of the function around.
inline std::string attr_ref(std::string_view name, std::string_view of, int64_t type) {
  return Message().text(1, name).text(21, of).number(20, type).bytes;
}

inline std::string node(std::string_view op, const Strings& inputs, const Strings& outputs,
                        const Strings& attributes = {}, std::string_view name = {},
                        std::string_view domain = {}) {
  Message m;
  m.texts(1, inputs).texts(2, outputs).text(3, name).text(4, op).texts(5, attributes);
  if (!domain.empty()) m.text(7, domain);
  return m.bytes;
}

struct GraphParts {
  Strings nodes;
  Strings initializers;
  Strings inputs;
  Strings outputs;
  Strings value_infos;
};
inline std::string graph(const GraphParts& parts) {
  return Message()
      .texts(1, parts.nodes)
      .text(2, "g")
      .texts(5, parts.initializers)
      .texts(11, parts.inputs)
      .texts(12, parts.outputs)
      .texts(13, parts.value_infos)
      .bytes;
}

inline std::string opset(std::string_view domain, int64_t version) {
  return Message().text(1, domain).number(2, version).bytes;
}
inline std::string model(const GraphParts& parts, int64_t version = 17,
                         const Strings& functions = {}, const Strings& more_opsets = {}) {
  return Message()
      .number(1, 8)
      .text(2, "test")
      .text(7, graph(parts))
      .text(8, opset("", version))
      .texts(8, more_opsets)
      .texts(25, functions)
      .bytes;
}

/// FunctionProto of domain "f" at opset 17.
inline std::string function(std::string_view name, const Strings& inputs, const Strings& outputs,
                            const Strings& nodes, const Strings& defaults = {}) {
  return Message()
      .text(1, name)
      .texts(4, inputs)
      .texts(5, outputs)
      .texts(7, nodes)
      .text(9, opset("", 17))
      .text(9, opset("f", 1))
      .text(10, "f")
      .texts(11, defaults)
      .bytes;
}

}  // namespace ingot::testing
