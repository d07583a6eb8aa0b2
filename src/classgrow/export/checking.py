"""An exported file against the model it was made from: the same labels, and scores within a tolerance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from classgrow.data.labelled import ArrayStore, LabelledImages
from classgrow.engine.runtime import Runtime
from classgrow.errors import ClassgrowError
from classgrow.export.contents import Contents, Model, answers_of, contents_of, learner_of
from classgrow.export.graph import Form, logits
from classgrow.export.result import Checked
from classgrow.learner.answers import Answers, Details, probabilities
from classgrow.memory import HELD_OUT, TRAIN
from classgrow.seeds import generator

MOST_PHOTOS, GENERATED = 48, 16
TOLERANCE = 1e-4
BATCH = 16

Run = Callable[[Tensor], dict[str, Tensor]]
"""What a file answers to its input, by the names of its outputs."""


@dataclass(frozen=True)
class Check:
    """What is exported, and what it must answer: the model's own scores of some images."""

    contents: Contents
    runtime: Runtime
    images: Tensor
    photos: int
    scores: Tensor
    distance: Tensor

    def compare(self, run: Run, form: Form) -> Checked:
        """Asks a file for one image and then for several at a time; refuses it where it answers differently.

        Probabilities are compared with those that follow from the file's own scores: a small temperature would make
        much of the last bits of a score.
        """
        batches = [self.images[:1], *self.images[1:].split(BATCH)]
        names = form.outputs(self.contents)
        answered = [run(form.feed(images, self.contents.inputs)) for images in batches]
        found = {name: torch.cat([one[name] for one in answered]) for name in names}
        expected = self.expected(found.get("scores", self.scores))
        differences = {name: difference(found[name], expected[name]) for name in names}
        worst = max(differences, key=lambda name: differences[name])
        if not differences[worst] <= TOLERANCE:
            raise different(f"{worst} off by {differences[worst]:.2g}")
        wrong = other_labels(found[names[0]], expected[names[0]])
        if wrong:
            raise different(f"{wrong} of {len(self.images)} images get another label")
        return Checked(self.photos, len(self.images) - self.photos, differences)

    def expected(self, scores: Tensor) -> dict[str, Tensor]:
        """The answers by the names of outputs."""
        temperature = self.contents.temperature
        return {
            "scores": self.scores,
            "probabilities": probabilities(scores, temperature),
            "logits": logits(self.scores.double(), temperature),
            "distance": self.distance,
        }


def check_for(model: Model, most_photos: int = MOST_PHOTOS) -> Check:
    """What is exported of a model, with photos of its memory, evenly chosen, and generated images."""
    learner = learner_of(model)
    answers = answers_of(learner)
    contents = contents_of(learner, answers)
    kept = kept_photos(answers, most_photos)
    made = generated_images(GENERATED, contents.side, contents.inputs.channels)
    images = made if kept is None else torch.cat((kept, made))
    own = details_of(answers, contents, images)
    scores, distance = torch.cat([one.scores for one in own]), torch.cat([one.distances for one in own])
    return Check(contents, answers.runtime, images, len(images) - len(made), scores, distance)


def details_of(answers: Answers, contents: Contents, images: Tensor) -> list[Details]:
    """The model's own answers."""
    nothing = torch.zeros(len(images), dtype=torch.long)
    data = LabelledImages(ArrayStore(images), torch.arange(len(images)), nothing, answers.state.classes)
    with answers.runtime.active():
        return list(answers.details(data, contents.rule, contents.unknown))


def kept_photos(answers: Answers, most: int) -> Tensor | None:
    """Some photos of the memory from its beginning to its end; None where there are none."""
    state = answers.state
    for role in (TRAIN, HELD_OUT):
        view = state.memory.view(state.classes, role)
        if view is not None:
            return view.read(torch.linspace(0, len(view) - 1, min(most, len(view))).round().long())
    return None


def generated_images(count: int, side: int, channels: int) -> Tensor:
    """Soft random patterns, uint8 (count, side, side, channels), the same at every call."""
    coarse = torch.rand(count, channels, 4, 4, generator=generator(0, "export"))
    smooth = functional.interpolate(coarse, size=(side, side), mode="bilinear", align_corners=True)
    return (smooth * 255).round().to(torch.uint8).permute(0, 2, 3, 1).contiguous()


def different(words: str) -> ClassgrowError:
    return ClassgrowError(
        f"The exported file does not answer as the model does ({words}) and was not kept: choose another format."
    )


def difference(found: Tensor, expected: Tensor) -> float:
    """The largest difference, divided by the largest number expected where that is over 1; infinite for another shape
    and for infinite numbers in other places."""
    if found.shape != expected.shape:
        return float("inf")
    finite = expected.isfinite()
    if not torch.equal(found[~finite], expected[~finite].to(found)):
        return float("inf")
    found, expected = found[finite].double(), expected[finite].double()
    if not expected.numel():
        return 0.0
    return float((found - expected).abs().max() / expected.abs().max().clamp(min=1.0))


def other_labels(found: Tensor, expected: Tensor) -> int:
    """How many images get another label, apart from those whose two best classes are as good as equal."""
    wrong = found.argmax(1) != expected.argmax(1)
    if expected.shape[1] < 2:
        return int(wrong.sum())
    best = expected.topk(2).values
    margin = 2 * TOLERANCE * expected[expected.isfinite()].abs().max().clamp(min=1.0)
    return int((wrong & (best[:, 0] - best[:, 1] > margin)).sum())
