"""An exported file holds no photo, no features of one, and none of the sums that would let it learn."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
import pytest
import torch
from onnx import numpy_helper
from torch import Tensor
from torch.nn.functional import normalize

from classgrow.export import write_onnx, write_torch, write_transformers
from classgrow.learner import Learner
from classgrow.learner.fitting import Measured
from classgrow.parts.rule_catalogue import RULES
from tests.export.conftest import STILL

TEACHING = {"rows", "owner", "total", "count"}
"""What the rules keep to learn on."""


def tensors_in(path: Path) -> Iterator[Tensor]:
    """Every tensor of an ONNX file, constants in nodes and in subgraphs included."""
    model = onnx.load(path)
    assert not model.functions
    for one in model.graph.initializer:
        yield torch.from_numpy(numpy_helper.to_array(one).copy())
    for node in model.graph.node:
        for attribute in node.attribute:
            assert attribute.type != onnx.AttributeProto.GRAPH
            if attribute.type == onnx.AttributeProto.TENSOR:
                yield torch.from_numpy(numpy_helper.to_array(attribute.t).copy())


def forms(values: Tensor) -> list[bytes]:
    """The bytes of the numbers as they could have been written."""
    return [values.contiguous().numpy().tobytes(), values.float().numpy().tobytes(), values.double().numpy().tobytes()]


def secrets(learner: Learner) -> list[Tensor]:
    """Photos and their features in the forms in which they are used, one after another, and what rules keep of them."""
    view = learner.state.memory.view(learner.state.classes)
    assert view is not None
    pixels = view.read(torch.arange(len(view)))
    features = Measured(learner.state.network, view, learner.inputs, learner.runtime).features
    teaching = [
        value
        for fitted in learner.state.fitted.values()
        for name, value in fitted.items()
        if name in TEACHING and value.numel() > 8
    ]
    return [*pixels, *(pixels / 255), *features, *normalize(features), *teaching]


@pytest.mark.parametrize("rule", RULES)
def test_no_photo_no_feature_and_no_sum_is_in_an_onnx_file(
    rule: str, taught: Callable[..., Learner], tmp_path: Path
) -> None:
    learner = taught(STILL, rule=rule)
    path = write_onnx(learner, tmp_path / "model.onnx").path
    content, kept = path.read_bytes(), secrets(learner)
    assert len(kept) >= 4 * 12
    assert [tuple(one.shape) for one in kept for form in forms(one) if form in content] == []
    # features are not there in any other length either: no row of a tensor points where a photo's features do
    features = normalize(torch.stack([one for one in kept if one.shape == (32,)])).double()
    rows = [one.double() for one in tensors_in(path) if one.ndim >= 2 and one.shape[-1] == 32]
    found = [float((normalize(one.reshape(-1, 32)) @ features.T).max()) for one in rows]
    assert max(found, default=0.0) < 1 - 1e-6
    # and the search finds what is there: weights of the network
    last = learner.state.network.backbone.state_dict()["conv1.weight"]
    assert any(one.shape == last.shape for one in tensors_in(path))


def test_means_of_a_rule_are_there_and_found(taught: Callable[..., Learner], tmp_path: Path) -> None:
    """The other side of the search above: what the rule answers with is in the file, as it is written there."""
    learner = taught(STILL)
    content = write_onnx(learner, tmp_path / "model.onnx").path.read_bytes()
    assert forms(learner.state.fitted["nearest"]["means"])[0] in content


def test_other_formats_hold_none_either(taught: Callable[..., Learner], tmp_path: Path) -> None:
    learner = taught(STILL, rule="discriminant")
    with zipfile.ZipFile(io.BytesIO(write_torch(learner, tmp_path / "model.pt2").path.read_bytes())) as archive:
        program = b"".join(archive.read(name) for name in archive.namelist())
    folder = write_transformers(learner, tmp_path / "folder").path
    browser = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert forms(learner.state.fitted["discriminant"]["weight"])[1] in program
    for content in (program, browser):
        assert [tuple(one.shape) for one in secrets(learner) for form in forms(one) if form in content] == []
