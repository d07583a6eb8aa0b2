"""From images to answers as one module that can be traced: preparation, network, rule, probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from classgrow.engine.augment import centre, scale
from classgrow.errors import ClassgrowError, one_line
from classgrow.export.contents import Contents
from classgrow.inputs import Inputs
from classgrow.parts.unknown import distances

FITTED, UNKNOWN = "fitted_", "unknown_"
LUMA = (0.299, 0.587, 0.114)
"""Shares of red, green and blue in grey: ITU-R 601, as Pillow converts."""


class Answer(nn.Module):
    """Normalised images (N, C, H, W) to scores by a model's rule, and distances where they are measured."""

    def __init__(self, contents: Contents) -> None:
        super().__init__()
        self.network, self.rule = contents.network, contents.rule
        self.names = tuple(contents.fitted)
        for name, value in contents.fitted.items():
            self.register_buffer(FITTED + name, value)
        self.measured_with = tuple(contents.unknown or ())
        for name, value in (contents.unknown or {}).items():
            self.register_buffer(UNKNOWN + name, value)

    def forward(self, values: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        outputs = self.network(values)
        scores = self.rule.scores(outputs, {name: getattr(self, FITTED + name) for name in self.names})
        if not self.measured_with:
            return scores, ()
        unknown = {name: getattr(self, UNKNOWN + name) for name in self.measured_with}
        return scores, (distances(outputs.features, unknown),)


class FromPixels(nn.Module):
    """uint8 (N, H, W, C) to scores, probabilities and distances."""

    def __init__(self, contents: Contents) -> None:
        super().__init__()
        self.answer, self.inputs, self.temperature = Answer(contents), contents.inputs, contents.temperature

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        scores, far = self.answer(prepared(images, self.inputs))
        return scores, torch.softmax(logits(scores, self.temperature), 1), *far


class FromValues(nn.Module):
    """Normalised float32 (N, 3, H, W), as transformers.js prepares them, to logits whose softmax is calibrated."""

    def __init__(self, contents: Contents) -> None:
        super().__init__()
        self.answer, self.temperature = Answer(contents), contents.temperature
        self.grey = contents.inputs.channels == 1

    def forward(self, pixel_values: Tensor) -> tuple[Tensor, ...]:
        if self.grey:
            pixel_values = (pixel_values * torch.tensor(LUMA)[:, None, None]).sum(1, keepdim=True)
        scores, far = self.answer(pixel_values)
        return logits(scores, self.temperature), *far


@dataclass(frozen=True)
class Form:
    """How a graph is asked: the name of its input, what images must become first, and the names of its answers."""

    input: str
    feed: Callable[[Tensor, Inputs], Tensor]
    answers: tuple[str, ...]
    module: Callable[[Contents], nn.Module]

    def outputs(self, contents: Contents) -> tuple[str, ...]:
        """The names of what comes out, in order."""
        return self.answers if contents.unknown is None else (*self.answers, "distance")


def logits(scores: Tensor, temperature: float) -> Tensor:
    """What a softmax turns into calibrated probabilities; 0 for the best class, so that nothing large is rounded."""
    return (scores - scores.amax(1, keepdim=True)) / temperature


def prepared(images: Tensor, inputs: Inputs) -> Tensor:
    """The test-time transform of uint8 images (N, H, W, C)."""
    return scale(centre(images, inputs).permute(0, 3, 1, 2).float(), inputs)


def prepared_colour(images: Tensor, inputs: Inputs) -> Tensor:
    """The same, always with three channels."""
    return prepared(images, inputs).expand(-1, 3, -1, -1).contiguous()


def as_they_are(images: Tensor, inputs: Inputs) -> Tensor:
    return images


PIXELS = Form("images", as_they_are, ("scores", "probabilities"), FromPixels)
VALUES = Form("pixel_values", prepared_colour, ("logits",), FromValues)


def program_of(contents: Contents, form: Form) -> ExportedProgram:
    """The traced graph, for any number of images. Tensors of the rule that no answer depends on are not in it."""
    everything = traced(contents, form)
    used = read_by(everything)
    needed = {name: value for name, value in contents.fitted.items() if name in used}
    return everything if len(needed) == len(contents.fitted) else traced(replace(contents, fitted=needed), form)


def traced(contents: Contents, form: Form) -> ExportedProgram:
    """The graph with every tensor the rule was fitted with. It is traced on empty images: a file may keep them."""
    side, channels = contents.side, contents.inputs.channels
    example = form.feed(torch.zeros(2, side, side, channels, dtype=torch.uint8), contents.inputs)
    try:
        with torch.no_grad():
            return torch.export.export(
                form.module(contents).eval(), (example,), dynamic_shapes=({0: Dim("batch", min=1)},)
            )
    except Exception as error:  # torch has many ways to say that a line of Python depends on a value
        raise ClassgrowError(
            f"This model cannot be exported ({one_line(error)}): its network and its rule {contents.rule.name!r} must "
            "be traceable by torch.export, without decisions that depend on values."
        ) from error


def read_by(program: ExportedProgram) -> set[str]:
    """The names of the rule's tensors that the graph reads."""
    buffers = program.graph_signature.inputs_to_buffers
    used = {node.name for node in program.graph.nodes if node.op == "placeholder" and node.users}
    return {name.partition(FITTED)[2] for place, name in buffers.items() if place in used and FITTED in name}
