"""(k) Pretrained features on images their training did not contain: CIFAR-100, ten classes at a time.

`python -m benchmarks.growing EACH [TESTED] [--preset NAME]` learns EACH training images a class, ten classes a call,
and tests on the first TESTED test images of every class seen (all 100 unless given).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time

import torch

import classgrow
from classgrow.data.catalogue import load
from classgrow.data.labelled import LabelledImages
from classgrow.data.scenario import Scenario
from classgrow.photos.results import Prediction
from classgrow.specs.orders import resolve_order


def first_of_each(images: LabelledImages, number: int) -> LabelledImages:
    """The first images of every class."""
    places = [torch.nonzero(images.labels == label)[:number, 0] for label in torch.unique(images.labels).tolist()]
    return images.select(torch.cat(places))


def named(images: LabelledImages) -> tuple[list[torch.Tensor], list[str]]:
    """Pixels and class names."""
    pixels = images.read(torch.arange(len(images)))
    return list(pixels), [images.classes[label].name for label in images.labels.tolist()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("each", type=int)
    parser.add_argument("tested", type=int, nargs="?", default=100)
    parser.add_argument("--preset", default="fast")
    given = parser.parse_args()
    dataset = load("cifar100")
    scenario = Scenario.make(resolve_order("0", 100), 10, 10)
    with tempfile.TemporaryDirectory() as folder:
        model = classgrow.create(f"{folder}/model", preset=given.preset, memory=100 * given.each)
        curve = []
        for phase in range(1, scenario.phases + 1):
            started = time.perf_counter()
            pixels, names = named(first_of_each(scenario.train(dataset, phase), given.each))
            model.learn(pixels, names)
            learned = time.perf_counter() - started
            # Later classes can take an image from its class, so all are asked again.
            pixels, truth = named(first_of_each(scenario.test(dataset, phase), given.tested))
            answers = model.predict(pixels, top=1)
            assert isinstance(answers, list)
            right = sum(best(one) == name for one, name in zip(answers, truth, strict=True))
            curve.append(round(100 * right / len(truth), 1))
            print(json.dumps({"classes": 10 * phase, "accuracy": curve[-1], "seconds": round(learned, 1)}), flush=True)
    print(json.dumps({"preset": given.preset, "each": given.each, "tested": given.tested, "curve": curve}))


def best(answer: Prediction) -> str:
    """The likeliest class, whether or not the photo looks unknown."""
    return answer.ranking[0][0]


if __name__ == "__main__":
    main()
