#!/usr/bin/env python3
"""operators_page.py: docs/onnx.md, which ONNX operators there are and how they are done.

    PYTHONPATH=the newest onnx package operators_page.py LIST_OPERATORS DATA OWN_CASES

Compares the page with what is: the reader's tables (LIST_OPERATORS is the program of
list_operators.cc), the versions that the onnx package defines, the cases of its suite in DATA, of which
docs/conformance.md says how they end, and OWN_CASES, all of which pass in a test of their own. With
UPDATE_GOLDEN=1 it writes the page anew."""

import collections
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import onnx
from onnx import TensorProto
from onnxruntime.capi import onnxruntime_pybind11_state as peer

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "onnx.md"
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
# Operators that the importer builds without a row.
WITHOUT_ROW = {"If", "Loop", "Scan", "SequenceMap", "ai.onnx.preview.FlexAttention"}
# Rows that say why not.
REFUSED = ("BeamSearch", "GreedySearch", "MoE", "QMoE", "Sampling", "WhisperBeamSearch")

REASONS = {
    "ai.onnx.preview.training.Gradient": "a derivative of a part of the model; export the trained model",
}

HEAD = """# ONNX operators

What the reader knows, written and compared by `tests/onnx/operators_page.py`.

- **Versions**: all that onnx {version} defines. One meaning holds from the versions in bold on: the reader has a row
  for it. Versions between only widened types. Operators with graphs inside have no rows.
{kinds}
- **Types**: of inputs and outputs in cases that pass.
- **Suite**: cases of [ONNX's backend suite](conformance.md) with this operator alone, passing of all. **Own**: cases of
  `tests/onnx` with it, all of which pass.
"""


def schema_versions():
    """{name: [versions]} of the standard's operators; other domains' with the domain in front."""
    versions = collections.defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        name = f"{schema.domain}.{schema.name}" if schema.domain else schema.name
        versions[name].append(schema.since_version)
    return {name: sorted(set(all_of_it)) for name, all_of_it in versions.items()}


def peer_operators():
    """Names of the operators of onnxruntime's own domain."""
    return sorted({f"{s.domain}.{s.name}" for s in peer.get_all_operator_schema()
                   if s.domain == "com.microsoft"})


class Listing:
    """What LIST_OPERATORS says."""

    def __init__(self, program, names, folders):
        done = subprocess.run([program, *folders], input="\n".join(names) + "\n", check=True, text=True,
                              stdout=subprocess.PIPE)
        self.rows, self.core, self.kinds = {}, {}, {}
        for line in done.stdout.splitlines():
            word, name, *rest = line.split("\t")
            if word == "row":
                self.rows[name] = [int(since) for since in rest]
            elif word == "case":
                self.core[pathlib.Path(name)] = rest
            else:
                self.kinds[name] = rest[0]


def graphs_of(graph):
    """The graph and those in its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] * attribute.HasField("g") + list(attribute.graphs):
                yield from graphs_of(inner)


def operators_of(model):
    names = set()
    for nodes in [graph.node for graph in graphs_of(model.graph)] + [f.node for f in model.functions]:
        for node in nodes:
            domain = "" if node.domain == "ai.onnx" else node.domain
            names.add(f"{domain}.{node.op_type}" if domain else node.op_type)
    return names


def types_of(model):
    """Element types of the graph's inputs and outputs."""
    types = set()
    for value in [*model.graph.input, *model.graph.output]:
        kind = value.type.tensor_type.elem_type
        if kind:
            types.add(TensorProto.DataType.Name(kind).lower())
    return types


class Operator:
    def __init__(self):
        self.core, self.types = set(), set()
        self.passing = self.cases = self.own = 0

    def cells(self):
        suite = f"{self.passing} of {self.cases}" if self.cases else ""
        return f"{', '.join(sorted(self.core))} | {', '.join(sorted(self.types))} | {suite} | {self.own or ''}"


def collect(listing, data, own):
    """{name: Operator} from all cases."""
    ends = dict(re.findall(r"^\| (test_\w+) \| (\w+) \|", (DOCS / "conformance.md").read_text(), re.M))
    found = collections.defaultdict(Operator)
    for folder in [data / kind for kind in KINDS] + [own]:
        for path in sorted(folder.glob("*/model.onnx")):
            model = onnx.load(path, load_external_data=False)
            names = operators_of(model) - {"Constant"} or {"Constant"}
            passes = folder == own or path.parent.name not in ends
            alone = len(names) == 1
            for name in names:
                operator = found[name]
                if folder == own:
                    operator.own += 1
                elif alone:
                    operator.cases += 1
                    operator.passing += passes
                if alone and passes:
                    operator.core |= set(listing.core.get(path.parent, ()))
                    operator.types |= types_of(model)
    for operator in found.values():
        operator.core -= {"constant"} if len(operator.core) > 1 else set()
    return found


def version_text(versions, rows):
    """The standard's versions; those from which a row holds in bold."""
    marked = [f"**{v}**" if v in rows else str(v) for v in versions]
    return ", ".join(marked)


def table(names, versions, listing, found):
    lines = ["| operator | versions | built of | types | suite | own |", "|---|---|---|---|---|---|"]
    for name in names:
        rows = listing.rows.get(name, [])
        lines.append(f"| {name} | {version_text(versions.get(name, rows), rows)} | {found[name].cells()} |")
    return lines


def page(listing, versions, peers, found):
    of_kind = collections.defaultdict(list)
    for name, kind in sorted(listing.kinds.items()):
        of_kind[kind].append(name)
    kinds = textwrap.fill(
        "- **Built of**: the core operators ([ops.md](ops.md)) that its cases are read as. Routines are "
        f"{', '.join(of_kind['routine'])}; templates, where it pays, {' and '.join(of_kind['template'])}; control "
        f"{' and '.join(of_kind['control'])}. All others are loop nests, fused with what is around them.",
        width=120, subsequent_indent="  ")
    known = set(listing.rows) | WITHOUT_ROW
    standard = [name for name in sorted(versions) if name in known]
    absent = [name for name in sorted(versions) if name not in known]
    read = [name for name in peers if name in known and name.split(".")[-1] not in REFUSED]
    unread = [name.split(".")[-1] for name in peers if name not in read]
    lines = [HEAD.format(kinds=kinds, version=onnx.__version__)]
    lines += [f"## The standard: {len(standard)} of {len(versions)} operators", ""]
    lines += table([n for n in standard if "." not in n] + [n for n in standard if "." in n],
                   versions, listing, found)
    lines += ["", "## Of the standard, not there", "", "| operator | versions | why |", "|---|---|---|"]
    lines += [f"| {n} | {', '.join(map(str, versions[n]))} | {REASONS[n]} |" for n in absent]
    lines += ["", f"## onnxruntime's own: {len(read)} of {len(peers)}", "",
              "The domain com.microsoft. What onnxruntime's optimiser, quantizers and scripts for transformers "
              "write is there.", ""]
    lines += table(read, {}, listing, found)
    lines += ["", f"Not there: {', '.join(unread)}."]
    return "\n".join(lines) + "\n"


def main(program, data, own):
    data, own = pathlib.Path(data), pathlib.Path(own)
    versions, peers = schema_versions(), peer_operators()
    listing = Listing(program, [*versions, *peers], [data / kind for kind in KINDS] + [own])
    known = set(listing.rows) | WITHOUT_ROW
    wrong = (set(versions) - known) ^ set(REASONS)
    if wrong:
        print("operators without a reason, or with one that is not needed:", ", ".join(sorted(wrong)))
        return 1
    written = page(listing, versions, peers, collect(listing, data, own))
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(written)
    held = PAGE.read_text() if PAGE.exists() else ""
    for line in sorted(set(written.splitlines()) ^ set(held.splitlines())):
        print(("now:  " if line in written else "page: ") + line)
    return 0 if written == held else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
