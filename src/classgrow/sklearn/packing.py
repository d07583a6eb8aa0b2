"""A learner as plain values, so that a classifier can be pickled without pickling any of torch's objects."""

from __future__ import annotations

from typing import Any

from safetensors.torch import load, save

from classgrow.inputs import kept_side
from classgrow.learner import Learner


def packed(learner: Learner) -> dict[str, Any]:
    """Settings, names and counts as they are, all tensors as the bytes of a safetensors file."""
    tensors, plain = learner.state.pack()
    plain.pop("teacher", None)  # the next phase makes its own
    tensors = {name: value for name, value in tensors.items() if not name.startswith("teacher.")}
    side = kept_side(learner.inputs)
    return {
        "settings": learner.get_params(),
        "shape": (side, side, learner.inputs.channels),
        "integer_names": learner.integer_names,
        "started_from": learner.started_from,
        "tensors": save(tensors),
        "plain": plain,
    }


def unpacked(saved: dict[str, Any]) -> Learner:
    """The reverse of `packed`: it predicts and goes on learning as the one that was packed."""
    learner = Learner(**saved["settings"])
    learner.integer_names = saved["integer_names"]
    learner.started_from = saved.get("started_from", "")  # older ones do not say it
    learner.restore(saved["shape"], load(saved["tensors"]), {"state": saved["plain"]})
    return learner
