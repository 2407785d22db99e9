"""Cases of ai.onnx.ml: what the onnx package has cases of is a fraction of it. Expected outputs come
from onnxruntime, or from NumPy where it has no such operator or type."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "ai.onnx.ml"
FLOAT, DOUBLE, INT64, STRING = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64,
                                TensorProto.STRING)
RNG = np.random.default_rng(2028)
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def normal(*dims):
    return RNG.standard_normal(dims).astype(np.float32)


def texts(*values):
    return np.array(values, dtype=object)


def op(cases, op_type, inputs, kinds=(FLOAT,), version=3, expected=None, tag="", **attrs):
    names = [f"x{k}" for k in range(len(inputs))]
    outputs = [f"y{k}" for k in range(len(kinds))]
    node = helper.make_node(op_type, names, outputs, name="node", domain=DOMAIN, **attrs)
    name = f"ml_{op_type}_{version}" + (f"_{tag}" if tag else "")
    cases.foreign(name, node, dict(zip(names, inputs)), kinds, {DOMAIN: version}, expected)


def features(cases):
    x = normal(4, 3)
    whole = RNG.integers(-3, 4, (4, 3))
    op(cases, "Scaler", [x], offset=[0.5, -1.0, 2.0], scale=[2.0, 0.5, -1.0])
    op(cases, "Scaler", [whole], tag="integers", offset=[1.5], scale=[0.25])
    op(cases, "Binarizer", [x], threshold=0.25)
    for norm in ("MAX", "L1", "L2"):
        op(cases, "Normalizer", [np.abs(x)], tag=norm, norm=norm)
    op(cases, "Normalizer", [np.zeros((2, 3), np.float32)], tag="zeros", norm="L2")
    holes = x.copy()
    holes[1, 2] = holes[0, 0] = np.nan
    op(cases, "Imputer", [holes], imputed_value_floats=[1.0, 2.0, 3.0],
       replaced_value_float=float("nan"))
    op(cases, "Imputer", [whole], [INT64], tag="integers", imputed_value_int64s=[77],
       replaced_value_int64=1)
    op(cases, "ArrayFeatureExtractor", [x, np.array([2, 0, 2])])
    op(cases, "ArrayFeatureExtractor", [normal(5), np.array([[4, 1]])], tag="list")
    wide = normal(4, 2)
    op(cases, "FeatureVectorizer", [x, wide], inputdimensions=[3, 2])
    op(cases, "FeatureVectorizer", [x, whole],
       expected=[np.concatenate([x[:, :2], whole.astype(np.float32), np.zeros((4, 2))], 1)
                 .astype(np.float32)],
       tag="cut", inputdimensions=[2, 5])
    op(cases, "OneHotEncoder", [whole], cats_int64s=[-1, 0, 2, 3], zeros=1)
    op(cases, "OneHotEncoder", [texts("b", "", "\u00e4", "c").reshape(2, 2)], tag="strings",
       cats_strings=["\u00e4", "b", ""], zeros=1)


def labels(cases):
    keys = [int(k) for k in RNG.permutation(40)[:21] * 7 - 100]
    asked = np.array([[keys[0], keys[20], 5], [-1000, 1000, keys[7]]])
    op(cases, "LabelEncoder", [asked], [FLOAT], 2, keys_int64s=keys,
       values_floats=[k / 2 for k in keys], default_float=-7.5)
    reals = [1.5, -2.0, float("nan"), 0.25]
    op(cases, "LabelEncoder", [np.array([0.25, np.nan, 3, -2, 1.5, 1.4999], np.float32)], [INT64],
       4, tag="floats", keys_floats=reals, values_int64s=[10, 20, 30, 40], default_int64=-4)
    op(cases, "LabelEncoder", [np.array([3, 4])], [INT64], 2, tag="one", keys_int64s=[4],
       values_int64s=[9])
    # Of equal keys the last one counts, as the standard says; onnxruntime takes the first.
    op(cases, "LabelEncoder", [np.array([1, 2, 3])], [INT64], 2, tag="twice",
       expected=[np.array([30, 20, -1])], keys_int64s=[1, 2, 1], values_int64s=[10, 20, 30])
    tensors = {
        "keys_tensor": numpy_helper.from_array(np.array([5, -3, 8], np.int16), "k"),
        "values_tensor": numpy_helper.from_array(np.array([0.5, 1.5, 2.5]), "v"),
        "default_tensor": numpy_helper.from_array(np.array([-1.0]), "d")}
    op(cases, "LabelEncoder", [np.array([8, 5, 0, -3], np.int16)], [DOUBLE], 4, tag="tensors",
       expected=[np.array([2.5, 0.5, -1.0, 1.5])], **tensors)

    names = ["b", "", "\u00e4", "a b", "B"]
    asked = texts("a b", "c", "", "B", "\u00e4", "a")
    for kind, values, default in ((INT64, [3, 1, 4, 1, 5], {"default_int64": 9}),
                                  (FLOAT, [0.5, 1.5, 2.5, 3.5, 4.5], {}),
                                  (STRING, ["one", "", "b", "a", "x"], {"default_string": "?"})):
        what = {INT64: "int64s", FLOAT: "floats", STRING: "strings"}[kind]
        op(cases, "LabelEncoder", [asked.reshape(2, 3)], [kind], 2, tag=f"strings_to_{what}",
           keys_strings=names, **{f"values_{what}": values}, **default)
    op(cases, "LabelEncoder", [asked], [INT64], 1, tag="strings", classes_strings=names,
       default_int64=-5)
    op(cases, "LabelEncoder", [np.array([2, 0, 4, 5, -1])], [STRING], 1, tag="numbers",
       classes_strings=names, default_string="none")
    op(cases, "CategoryMapper", [asked], [INT64], 1, tag="strings", cats_strings=names,
       cats_int64s=[7, 8, 9, -3, 0], default_int64=-5)
    op(cases, "CategoryMapper", [np.array([[9, -3], [0, 1]])], [STRING], 1, tag="numbers",
       cats_strings=names, cats_int64s=[7, 8, 9, -3, 0], default_string="none")


def many_labels(cases):
    """As many keys as real vocabularies have: hashed, one of the keys at each end of the types."""
    for count in (17, 4000, 100_000):
        keys = (RNG.permutation(2 * count)[:count] * 7 - 100).astype(np.int64)
        keys[:2] = -2**63, 2**63 - 1
        asked = np.concatenate([RNG.choice(keys, 300), RNG.integers(-1000, 14 * count, 100),
                                keys[:2]])
        op(cases, "LabelEncoder", [asked], [FLOAT], 2, tag=f"of_{count}", keys_int64s=keys.tolist(),
           values_floats=RNG.standard_normal(count).tolist(), default_float=-7.5)
        op(cases, "LabelEncoder", [asked], [STRING], 2, tag=f"of_{count}_to_strings",
           keys_int64s=keys.tolist(), values_strings=[f"v{k}" for k in keys])
        words = [f"{k}" * (k % 5 + 1) for k in RNG.permutation(2 * count)[:count]]
        asked = texts(*RNG.choice(words, 300), *[f"{k}" for k in range(50)], "")
        op(cases, "LabelEncoder", [asked], [INT64], 2, tag=f"of_{count}_strings",
           keys_strings=words, values_int64s=RNG.integers(-9, 9, count).tolist(), default_int64=-70)
    reals = np.concatenate([normal(300), [0.0, np.nan, np.inf, -np.inf]]).astype(np.float32)
    asked = np.concatenate([RNG.choice(reals, 100), normal(20),
                            [-0.0, 0.0, np.nan, -np.nan, np.inf, -np.inf]]).astype(np.float32)
    table = {float(key): k for k, key in enumerate(reals) if key == key}
    expected = [303 - 2 if v != v else table.get(float(v), -4) for v in asked]
    for kind in (np.float32, np.float64):
        op(cases, "LabelEncoder", [asked.astype(kind)], [INT64], 4, tag=f"reals_{kind.__name__}",
           expected=[np.array(expected)],
           keys_tensor=numpy_helper.from_array(reals.astype(kind), "k"),
           values_tensor=numpy_helper.from_array(np.arange(304), "v"),
           default_tensor=numpy_helper.from_array(np.array([-4]), "d"))
    words = [f"{k}" for k in RNG.permutation(300)]
    op(cases, "OneHotEncoder", [texts(*words[:20], "", "301").reshape(2, 11)], tag="of_300_strings",
       cats_strings=words, zeros=1)
    numbers = RNG.permutation(900)[:300]
    op(cases, "OneHotEncoder", [RNG.integers(0, 900, (2, 11))], tag="of_300", cats_int64s=numbers.tolist(),
       zeros=1)


def linear(cases):
    x = normal(5, 4)
    for post in TRANSFORMS:
        if post != "PROBIT":
            op(cases, "LinearRegressor", [x], tag=post, targets=3, post_transform=post,
               coefficients=normal(12).tolist(), intercepts=normal(3).tolist())
        op(cases, "LinearClassifier", [x], (INT64, FLOAT), tag=post, post_transform=post,
           coefficients=(normal(12) * 0.1).tolist(), intercepts=[0.3, 0.4, 0.35],
           classlabels_ints=[7, 3, 5])
    op(cases, "LinearRegressor", [x], tag="bare", coefficients=normal(4).tolist(), intercepts=[0.0])
    for post in ("NONE", "LOGISTIC", "SOFTMAX"):
        op(cases, "LinearClassifier", [x], (INT64, FLOAT), tag=f"binary_{post}",
           coefficients=normal(4).tolist(), intercepts=[0.25], classlabels_ints=[4, 9],
           post_transform=post)
    op(cases, "LinearClassifier", [RNG.integers(-3, 4, (4, 2))], (INT64, FLOAT), tag="integers",
       coefficients=normal(6).tolist(), intercepts=normal(3).tolist(), classlabels_ints=[0, 1, 2])


def probabilities(cases):
    x = normal(6, 3)
    for classes in (2, 3, 4):
        per_class = [2, 3, 1, 2][:classes]
        total, pairs = sum(per_class), classes * (classes - 1) // 2
        op(cases, "SVMClassifier", [x], (INT64, FLOAT), tag=f"probabilities_{classes}",
           kernel_type="RBF", kernel_params=[0.5, 0.0, 0.0], vectors_per_class=per_class,
           support_vectors=normal(3 * total).tolist(),
           coefficients=normal((classes - 1) * total).tolist(), rho=normal(pairs).tolist(),
           prob_a=(-np.abs(normal(pairs))).tolist(), prob_b=(normal(pairs) * 0.1).tolist(),
           classlabels_ints=[4, 2, 9, 7][:classes])


def machines(cases):
    x = normal(6, 3)
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        op(cases, "SVMRegressor", [x], tag=kernel, kernel_type=kernel, n_supports=4,
           kernel_params=[0.5, 0.25, 3.0], support_vectors=normal(12).tolist(),
           coefficients=normal(4).tolist(), rho=[0.1])
        for classes in (2, 3, 4):
            per_class = [2, 3, 1, 2][:classes]
            total = sum(per_class)
            op(cases, "SVMClassifier", [x], (INT64, FLOAT), tag=f"{kernel}_{classes}",
               kernel_type=kernel, kernel_params=[0.5, 0.25, 2.0], vectors_per_class=per_class,
               support_vectors=normal(3 * total).tolist(),
               coefficients=normal((classes - 1) * total).tolist(),
               rho=normal(classes * (classes - 1) // 2).tolist(),
               classlabels_ints=[4, 2, 9, 7][:classes])
    for post in ("LOGISTIC", "SOFTMAX"):
        op(cases, "SVMClassifier", [x], (INT64, FLOAT), tag=f"binary_{post}", kernel_type="RBF",
           kernel_params=[0.5, 0.0, 0.0], vectors_per_class=[2, 2], post_transform=post,
           support_vectors=normal(12).tolist(), coefficients=normal(4).tolist(), rho=[0.25],
           classlabels_ints=[3, 8])
    op(cases, "SVMRegressor", [x], tag="one_class", kernel_type="RBF", n_supports=4, one_class=1,
       kernel_params=[0.5, 0.0, 3.0], support_vectors=normal(12).tolist(),
       coefficients=normal(4).tolist(), rho=[0.1])
    op(cases, "SVMRegressor", [x], tag="no_vectors", coefficients=normal(3).tolist(), rho=[-0.2],
       kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0])
    op(cases, "SVMClassifier", [x], (INT64, FLOAT), tag="no_vectors", rho=[0.1],
       coefficients=normal(9).tolist(), classlabels_ints=[3, 1, 2], kernel_type="LINEAR",
       kernel_params=[0.0, 0.0, 0.0])


def forest(trees, depth, features_count, targets, low=-1.0, modes=("BRANCH_LEQ",), one_target=False,
           missing=False):
    """Attributes of nodes, and of what leaves add: lists of (tree, node, target, weight)."""
    nodes = {name: [] for name in ("treeids", "nodeids", "featureids", "modes", "values",
                                   "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    leaves = []

    def grow(tree, left, count):
        """Appends a node and those below it; returns its number."""
        node = count[0]
        count[0] += 1
        at = len(nodes["modes"])
        leaf = left == 0 or (left < depth and RNG.random() < 0.25)
        for name, value in (("treeids", tree), ("nodeids", node),
                            ("featureids", int(RNG.integers(features_count))),
                            ("modes", "LEAF" if leaf else str(RNG.choice(modes))),
                            ("values", float(np.float32(np.round(RNG.normal(), 1)))),
                            ("truenodeids", 0), ("falsenodeids", 0),
                            ("missing_value_tracks_true", int(missing and RNG.random() < 0.5))):
            nodes[name].append(value)
        if leaf:
            chosen = [tree % targets] if one_target else RNG.permutation(targets)
            for target in chosen:
                leaves.append((tree, node, int(target), float(RNG.uniform(low, 1))))
        else:
            nodes["truenodeids"][at] = grow(tree, left - 1, count)
            nodes["falsenodeids"][at] = grow(tree, left - 1, count)
        return node

    for tree in range(trees):
        grow(tree, depth, [0])
    return {f"nodes_{name}": values for name, values in nodes.items()}, leaves


def adds(prefix, leaves):
    names = ("treeids", "nodeids", "ids", "weights")
    return {f"{prefix}_{name}": [leaf[k] for leaf in leaves] for k, name in enumerate(names)}


def trees(cases):
    x = np.round(normal(9, 5), 1)
    holes = x.copy()
    holes[2, 1] = holes[4, 3] = holes[5, 0] = np.nan
    every = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
    for how in ("SUM", "AVERAGE", "MIN", "MAX"):
        nodes, leaves = forest(4, 4, 5, 2)
        op(cases, "TreeEnsembleRegressor", [x], tag=how, aggregate_function=how, n_targets=2,
           base_values=[0.5, -0.25], **nodes, **adds("target", leaves))
    nodes, leaves = forest(3, 5, 5, 1, modes=every)
    op(cases, "TreeEnsembleRegressor", [x], tag="modes", n_targets=1, **nodes,
       **adds("target", leaves))
    nodes, leaves = forest(3, 5, 5, 1, missing=True)
    op(cases, "TreeEnsembleRegressor", [holes], tag="missing", n_targets=1, **nodes,
       **adds("target", leaves))
    nodes, leaves = forest(6, 3, 5, 3, one_target=True)
    op(cases, "TreeEnsembleRegressor", [x.astype(np.float64)], tag="double", n_targets=3, **nodes,
       **adds("target", leaves))
    for post in TRANSFORMS:
        low = 0.0 if post == "PROBIT" else -1.0
        nodes, leaves = forest(1 if post == "PROBIT" else 5, 3, 5, 3, low)
        op(cases, "TreeEnsembleClassifier", [x], (INT64, FLOAT), tag=post, post_transform=post,
           classlabels_int64s=[5, 7, 6], **nodes, **adds("class", leaves))
        for sign, low in (("positive", 0.0), ("mixed", -1.0)):
            if post == "PROBIT":
                continue
            nodes, leaves = forest(3, 3, 5, 1, low)
            op(cases, "TreeEnsembleClassifier", [x], (INT64, FLOAT), tag=f"binary_{sign}_{post}",
               post_transform=post, classlabels_int64s=[5, 7], **nodes, **adds("class", leaves))
    nodes, leaves = forest(3, 3, 5, 1)
    op(cases, "TreeEnsembleClassifier", [x], (INT64, FLOAT), tag="binary_base",
       base_values=[0.3], classlabels_int64s=[0, 1], **nodes, **adds("class", leaves))
    nodes, leaves = forest(6, 3, 5, 3, one_target=True)
    op(cases, "TreeEnsembleClassifier", [x], (INT64, FLOAT), tag="boosted", post_transform="SOFTMAX",
       base_values=[0.1, 0.2, 0.3], classlabels_int64s=[0, 1, 2], **nodes, **adds("class", leaves))


def new_trees(cases):
    """TreeEnsemble: two trees, one of which asks for members of sets."""
    x = np.array([[1.2, 3], [4, -1.0], [0, 7], [3, 2.5], [2.0, 0.5]], np.float32)
    tensor = numpy_helper.from_array
    for how, name in enumerate(("average", "sum", "min", "max")):
        op(cases, "TreeEnsemble", [x], version=5, tag=name, n_targets=2, aggregate_function=how,
           tree_roots=[0, 2], nodes_featureids=[0, 1, 0], nodes_truenodeids=[1, 0, 2],
           nodes_falsenodeids=[0, 1, 3], nodes_trueleafs=[0, 1, 1], nodes_falseleafs=[1, 1, 1],
           nodes_modes=tensor(np.array([0, 6, 6], np.uint8), "m"),
           nodes_splits=tensor(np.array([2.0, 0, 0], np.float32), "s"),
           membership_values=tensor(np.array([3, 7, np.nan, 4, 1, 3], np.float32), "v"),
           leaf_targetids=[0, 1, 1, 0],
           leaf_weights=tensor(np.array([5.25, 12.5, -1.75, 3.0], np.float32), "w"))


def add(cases):
    for family in (features, labels, many_labels, linear, machines, probabilities, trees, new_trees):
        family(cases)
