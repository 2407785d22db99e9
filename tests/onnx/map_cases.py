"""map_cases.py: maps of ai.onnx.ml, for generate.py: at the end of classifiers, as converters from
scikit-learn write them, and as inputs. Expected outputs come from onnxruntime."""

import numpy as np
from onnx import TensorProto, helper

F, D, I, S = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.STRING
RNG = np.random.default_rng(12)
DOMAIN = "ai.onnx.ml"


def normal(*dims):
    return RNG.standard_normal(dims).astype(np.float32)


def node(op_type, inputs, outputs, **attrs):
    return helper.make_node(op_type, inputs, outputs, domain=DOMAIN, **attrs)


def value(name, kind, dims=None):
    return helper.make_tensor_value_info(name, kind, dims)


def map_type(key, kind):
    return helper.make_map_type_proto(key, helper.make_tensor_type_proto(kind, None))


def maps(name, key):
    return helper.make_value_info(name, helper.make_sequence_type_proto(map_type(key, F)))


def write(cases, name, nodes, inputs, outputs, data, expected=None):
    graph = helper.make_graph(nodes, "maps", inputs, outputs)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    cases.write(name, helper.make_model(graph, opset_imports=imports, ir_version=8), data, expected)


def zipped(cases):
    x = normal(4, 3)
    for tag, key, attrs in (("numbers", I, {"classlabels_int64s": [2, 0, -7]}),
                            ("strings", S, {"classlabels_strings": ["b", "", "\u00e4 c"]}),
                            ("twice", I, {"classlabels_int64s": [5, 3, 5]})):
        write(cases, f"ml_ZipMap_{tag}", [node("ZipMap", ["x"], ["y"], **attrs)],
              [value("x", F, ["n", 3])], [maps("y", key)], {"x": x})
    write(cases, "ml_ZipMap_list", [node("ZipMap", ["x"], ["y"], classlabels_int64s=[0, 1, 2])],
          [value("x", F, [3])], [maps("y", I)], {"x": x[0]})
    write(cases, "ml_ZipMap_no_rows", [node("ZipMap", ["x"], ["y"], classlabels_int64s=[0, 1, 2])],
          [value("x", F, ["n", 3])], [maps("y", I)], {"x": x[:0]})


def classifiers(cases):
    x = normal(7, 4)
    rows = ["batch", 4]
    trees = {"nodes_treeids": [0, 0, 0, 1, 1, 1], "nodes_nodeids": [0, 1, 2, 0, 1, 2],
             "nodes_featureids": [1, 0, 0, 3, 0, 0], "nodes_values": [0.1, 0, 0, -0.2, 0, 0],
             "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * 2,
             "nodes_truenodeids": [1, 0, 0, 1, 0, 0], "nodes_falsenodeids": [2, 0, 0, 2, 0, 0],
             "class_treeids": [0, 0, 0, 1, 1, 1], "class_nodeids": [1, 1, 2, 1, 2, 2],
             "class_ids": [0, 1, 2, 0, 1, 2], "class_weights": [0.4, 0.1, 0.5, 0.25, 0.15, 0.35]}
    linear = {"coefficients": normal(12).tolist(), "intercepts": [0.1, -0.2, 0.3],
              "post_transform": "SOFTMAX"}
    numbers, texts = [3, 8, 12], ["setosa", "versicolor", "virginica"]
    for name, attrs in (("TreeEnsembleClassifier", trees), ("LinearClassifier", linear)):
        strings = "classlabels_strings"
        own = "classlabels_ints" if name == "LinearClassifier" else "classlabels_int64s"
        for tag, key, given, zipped_by in (
                ("numbers", I, {own: numbers}, {"classlabels_int64s": numbers}),
                ("strings", S, {strings: texts}, {strings: texts})):
            nodes = [node(name, ["x"], ["label", "scores"], **attrs, **given),
                     node("ZipMap", ["scores"], ["probabilities"], **zipped_by)]
            write(cases, f"{name}_with_ZipMap_{tag}", nodes, [value("x", F, rows)],
                  [value("label", key, ["batch"]), maps("probabilities", key)], {"x": x})
    # What skl2onnx writes of a logistic regression: scores are normalised on their way.
    nodes = [node("LinearClassifier", ["x"], ["label", "raw"], classlabels_ints=numbers,
                  coefficients=linear["coefficients"], intercepts=linear["intercepts"],
                  post_transform="LOGISTIC"),
             node("Normalizer", ["raw"], ["scores"], norm="L1"),
             helper.make_node("Cast", ["label"], ["output_label"], to=I),
             node("ZipMap", ["scores"], ["output_probability"], classlabels_int64s=numbers)]
    write(cases, "logistic_regression", nodes, [value("x", F, rows)],
          [value("output_label", I, ["batch"]), maps("output_probability", I)], {"x": x})


def taken_apart(cases):
    def case(op_type, tag, key, kind, given, result, expected=None, **attrs):
        write(cases, f"ml_{op_type}_{tag}", [node(op_type, ["m"], ["y"], **attrs)],
              [helper.make_value_info("m", map_type(key, kind))], [value("y", result)],
              {"m": given}, expected)

    names = {"b": 2.5, "": -1.0, "\u00e4": 4.0, "not asked": 9.0}
    words = ["a", "\u00e4", "", "b", "\u00e4"]
    # onnxruntime's Python interface has maps to float alone.
    for kind, dtype in ((F, np.float32), (D, np.float64), (I, np.int64)):
        tag = TensorProto.DataType.Name(kind).lower()
        given = {k: dtype(v).item() for k, v in names.items()}
        expected = None if kind == F else [np.array([[given.get(w, 0) for w in words]], dtype)]
        case("DictVectorizer", f"strings_to_{tag}", S, kind, given, kind, expected,
             string_vocabulary=words)
        if kind == I:
            continue
        expected = None if kind == F else [np.array([[7.0, 0, 0.25]], dtype)]
        case("DictVectorizer", f"numbers_to_{tag}", I, kind, {3: 1.5, -2: 0.25, 8: 7.0}, kind,
             expected, int64_vocabulary=[8, 1, -2])
    case("DictVectorizer", "numbers_to_strings", I, S, {3: "x", -2: "", 8: "y z"}, S,
         [np.array([["y z", "", ""]], object)], int64_vocabulary=[8, 1, -2])
    numbers = {7: 1e9, 0: 1.5, 3: -2.25}
    for form in ("DENSE", "SPARSE"):
        attrs = {"map_form": form, "max_map": 5}
        case("CastMap", form, I, F, numbers, F, **attrs)
        case("CastMap", f"{form}_to_integers", I, F, numbers, I, cast_to="TO_INT64", **attrs)
        texts = {7: "8", 0: "1.5", 3: "-2"}
        reals = [1.5, -2, 8] if form == "DENSE" else [1.5, 0, 0, -2, 0]
        case("CastMap", f"{form}_of_strings", I, S, texts, F, [np.array([reals], np.float32)],
             cast_to="TO_FLOAT", **attrs)
        same = ["1.5", "-2", "8"] if form == "DENSE" else ["1.5", "0.f", "0.f", "-2", "0.f"]
        case("CastMap", f"{form}_strings", I, S, texts, S, [np.array([same], object)],
             cast_to="TO_STRING", **attrs)
    case("CastMap", "empty", I, F, {}, F, [np.zeros((1, 0), np.float32)])


def add(cases):
    for family in (zipped, classifiers, taken_apart):
        family(cases)
