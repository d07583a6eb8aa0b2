"""From photos that were read to predictions, in batches: names, probabilities, and the kept photos most like them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from classgrow.learner.answers import Answer
from classgrow.photos.folder import EXEMPLARS
from classgrow.photos.intake import Intake
from classgrow.photos.results import Nearest, Prediction
from classgrow.photos.saved import Content

BATCH = 64


def predictions(content: Content, folder: Path, intake: Intake, top: int) -> Iterator[Prediction]:
    """The answer for each photo, in the order in which they were read."""
    content.learner.progress.begin("looking at photos", len(intake))
    try:
        for start in range(0, len(intake), BATCH):
            answers = content.learner.answer(intake.pixels[start : start + BATCH], top)
            for source, answer in zip(intake.sources[start : start + BATCH], answers, strict=True):
                yield prediction(content, folder, source, answer)
            content.learner.progress.advance(len(answers))
    finally:
        content.learner.progress.end()


def prediction(content: Content, folder: Path, source: str, answer: Answer) -> Prediction:
    """A learner's answer in the words of a model of photos."""
    ranking = tuple((str(name), probability) for name, probability in answer.ranking)
    labels = content.learner.state.memory.labels
    classes = content.classes

    def nearest(place: int, similarity: float) -> Nearest:
        name = classes[int(labels[place])]
        if place >= len(content.exemplars):
            return Nearest(name, None, "", similarity)
        kept = content.exemplars[place]
        return Nearest(name, folder / EXEMPLARS / kept.file, kept.source, similarity)

    return Prediction(
        source=source,
        name=None if answer.unknown else ranking[0][0],
        probability=ranking[0][1],
        ranking=ranking,
        distance=answer.distance if answer.unknown is not None else None,
        unknown=answer.unknown,
        nearest=tuple(nearest(place, similarity) for place, similarity in answer.nearest),
    )
