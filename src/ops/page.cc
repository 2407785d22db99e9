// ops/page.cc: the documentation page of the operators, from their definitions.
#include "ops/page.h"

#include "base/text.h"

namespace ingot {
namespace {

/// Text for Markdown: no emphasis by accident, and no column where a bar stands.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '*' || c == '|' || c == '[' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

std::string_view suffix(PortKind kind) {
  switch (kind) {
    case PortKind::required:
      return "";
    case PortKind::optional:
      return " (optional)";
    case PortKind::variadic:
      return " (any number)";
  }
  INGOT_UNREACHABLE();
}

std::string ports(std::string_view title, std::span<const Port> list) {
  std::string out;
  for (const Port& port : list) {
    out += concat("| ", title, " | `", port.name, "`", suffix(port.kind), " | ", escaped(port.doc),
                  " |\n");
  }
  return out;
}

std::string attributes(const OpDef& def) {
  std::string out;
  const auto defaults = def.make({});
  CHECK(defaults, def.name, ": cannot be made without attributes");
  for (size_t k = 0; k < def.fields.size(); ++k) {
    const Attribute value = defaults->attribute(k);
    const auto* expr = std::get_if<Expr>(&value);
    const bool needs_value = (expr != nullptr && !*expr) ||
                             std::holds_alternative<GraphRef>(value) ||
                             std::holds_alternative<ConstantData>(value);
    out += concat("| attribute | `", def.fields[k], "` | ", detail::attribute_type_name(value));
    if (!needs_value) out += concat(", by default `", to_text(value), "`");
    out += " |\n";
  }
  return out;
}

std::string accuracy(const Accuracy& accuracy) {
  switch (accuracy.kind) {
    case Accuracy::Kind::exact:
      return "exact";
    case Accuracy::Kind::rounding:
      return concat(accuracy.ulp, " ulp of the compute type per gathered value");
    case Accuracy::Kind::random:
      return "random";
  }
  INGOT_UNREACHABLE();
}

std::string realisation(const OpDef& def) {
  if (def.lower != nullptr) return "element expression";
  if (def.lower_scatter != nullptr) return "scattered store";
  if (def.expand != nullptr) return "other operators";
  if (def.routine != nullptr) return concat("the routine `", def.routine->symbol, "`");
  return "none";
}

std::string section(const OpDef& def) {
  std::string out = concat("## ", def.name, "\n\n");
  for (const std::string_view line : split(def.doc, '\n')) out += escaped(line) + "  \n";
  out += "\n| | name | meaning |\n|---|---|---|\n";
  out += ports("input", def.inputs) + ports("output", def.outputs) + attributes(def);
  return out + concat("\nAccuracy: ", accuracy(def.accuracy), ". Realised by: ", realisation(def),
                      ".\n\n");
}

}  // namespace

std::string ops_page(std::span<const OpDef* const> ops) {
  std::string out =
      "# Core operators\n\n"
      "Generated from src/ops by the test `ops.Page`; run it with UPDATE_GOLDEN=1 to write it anew."
      "\n\n";
  for (const OpDef* def : ops) out += concat("- [", def->name, "](#", def->name, ")\n");
  out += "\n";
  for (const OpDef* def : ops) out += section(*def);
  out.pop_back();
  return out;
}

}  // namespace ingot
