"""A model as one ONNX file: images in, scores and probabilities out."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.export import ExportedProgram

from classgrow import __version__
from classgrow.engine.runtime import Runtime
from classgrow.errors import ClassgrowError, one_line
from classgrow.export.checking import Run, check_for, different
from classgrow.export.contents import Contents, Model
from classgrow.export.graph import PIXELS, Form, program_of
from classgrow.export.result import Exported
from classgrow.export.writing import replacing, with_ending

if TYPE_CHECKING:
    import onnx

OPSET = 18
"""The operators that torch itself writes, so that nothing is converted; onnxruntime-web reads them since 1.15."""
LARGEST = 2**31 - 1
"""Bytes that one ONNX file can hold."""


def write_onnx(model: Model, path: Path | str) -> Exported:
    """Write the model as one ONNX file that takes uint8 images (N, H, W, C).

    It is compared with the model before it takes its place: the same labels, scores within 1e-4.
    """
    path = with_ending(path, ".onnx")
    require_onnx()
    check = check_for(model)
    with replacing(path) as temporary:
        write_graph(check.contents, PIXELS, temporary)
        found = check.compare(session(temporary, check.runtime), PIXELS)
    return Exported(path, path.stat().st_size, check.contents.metadata(), checker(), found)


def require_onnx() -> None:
    """Refuses where a library of the extra is missing."""
    missing = [name for name in ("onnx", "onnxscript", "onnxruntime") if find_spec(name) is None]
    if missing:
        raise ClassgrowError(
            f"An export to ONNX needs {missing[0]}, which is not installed: pip install 'classgrow[onnx]'."
        )


def checker() -> str:
    """What runs the file to check it."""
    return f"onnxruntime {version('onnxruntime')}"


def write_graph(contents: Contents, form: Form, path: Path) -> None:
    """The graph as a file, checked to be valid ONNX, that says what it is and nothing of the machine it comes from."""
    import onnx

    model = as_onnx(program_of(contents, form), form.input, form.outputs(contents))
    if model.ByteSize() > LARGEST:
        raise ClassgrowError("This model is larger than the 2 GB that an ONNX file can hold: export it with `torch`.")
    describe(model, contents)
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise different(one_line(error)) from error
    path.write_bytes(model.SerializeToString())


def describe(model: onnx.ModelProto, contents: Contents) -> None:
    """What the file says of itself, in place of where and how it was traced."""
    import onnx

    model.producer_name, model.producer_version = "classgrow", __version__
    del model.metadata_props[:]
    onnx.helper.set_model_props(model, contents.metadata())
    del model.graph.value_info[:]  # shapes in between, which every program works out itself
    for part in (model.graph, *model.graph.node, *model.graph.initializer, *model.graph.input, *model.graph.output):
        del part.metadata_props[:]
        part.doc_string = ""
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"


def as_onnx(program: ExportedProgram, entrance: str, outputs: tuple[str, ...]) -> onnx.ModelProto:
    """The traced graph in ONNX's operators, constants folded."""
    with quiet():
        try:
            found = torch.onnx.export(
                program.run_decompositions(decompositions()),
                (),
                dynamo=True,
                opset_version=OPSET,
                input_names=[entrance],
                output_names=list(outputs),
                external_data=False,
                verbose=False,
            )
        except torch.onnx.OnnxExporterError as error:
            reason = one_line(error.__cause__ or error)
            raise ClassgrowError(
                f"This model has an operation that ONNX lacks ({reason}): export it with `torch`."
            ) from error
    assert found is not None
    model: onnx.ModelProto = found.model_proto
    return model


def decompositions() -> dict[torch._ops.OperatorBase, object]:
    """torch's own, and what ONNX has no operator for."""
    table = {torch.ops.aten.cdist.default: distances}
    return {**torch.export.default_decompositions(), **table}


def distances(left: Tensor, right: Tensor, p: float = 2.0, compute_mode: int | None = None) -> Tensor:
    """torch.cdist from differences: exact also where two points are close."""
    found: Tensor = torch.linalg.vector_norm(left.unsqueeze(-2) - right.unsqueeze(-3), p, -1)
    return found


@contextmanager
def quiet() -> Iterator[None]:
    """Without the exporter's notes about libraries that are not installed and its own deprecated calls."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


def session(path: Path, runtime: Runtime) -> Run:
    """The file as onnxruntime runs it on the CPU."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = runtime.execution.threads, 3
    try:
        loaded = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its own kinds, which have no public names
        raise different(one_line(error)) from error

    names = [one.name for one in loaded.get_outputs()]

    def run(values: Tensor) -> dict[str, Tensor]:
        found = loaded.run(names, {loaded.get_inputs()[0].name: np.ascontiguousarray(values.numpy())})
        return {name: torch.from_numpy(value) for name, value in zip(names, found, strict=True)}

    return run
