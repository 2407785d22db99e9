#!/usr/bin/env python3
"""Writes model.onnx, whose operators only examples/custom_operator/main.cc knows. Needs the package onnx."""

import pathlib

from onnx import TensorProto, checker, helper

nodes = [
    helper.make_node("SoftSign", ["x"], ["s"], name="softsign", domain="com.example", sharpness=2.0),
    helper.make_node("RunningSum", ["s"], ["t"], name="running_sum", domain="com.example"),
    helper.make_node("Add", ["t", "x"], ["y"], name="add"),
]
graph = helper.make_graph(
    nodes, "custom",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 4])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 4])])
model = helper.make_model(
    graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)], ir_version=8)
checker.check_model(model)
pathlib.Path(__file__).with_name("model.onnx").write_bytes(model.SerializeToString())
