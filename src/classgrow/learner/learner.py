"""A classifier that learns new classes as they arrive. A user's folder and a benchmark's phase are the same call."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self, cast, overload

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from classgrow.data.images import ImagesLike
from classgrow.data.intake import Name, common_shape, labelled, listed, sized
from classgrow.data.labelled import ArrayStore, ClassLabel, LabelledImages
from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError, nearest_name
from classgrow.inputs import Inputs
from classgrow.learner.answers import Answer, Evaluation, forget_class, probabilities
from classgrow.learner.arguments import Arguments, check_arguments, checked_path, checked_top, parameters_of
from classgrow.learner.phased import PhaseLearner
from classgrow.learner.terminal import default_progress
from classgrow.method import Method
from classgrow.parts.rules import Rule
from classgrow.progress import Progress
from classgrow.recipes import Profile, Recipe

Ranking = list[tuple[Name, float]]
"""Classes with their probabilities, likeliest first."""


class Learner(PhaseLearner):
    """A classifier that learns new classes as they arrive.

    - `method`: a name from the catalogue or a `Method`
    - `memory`: exemplars kept in total, over all classes (2000), or `memory_per_class`
    - `keep_photos`: False: of exemplars only features are kept, no pixels, by a method that trains nothing
    - `network`: None: the preset's; a name; or a module with an attribute `features`, of which a copy is trained
    - `preset`: "digits", "cifar" or "imagenet": network and recipe; None: the data set's, or by image size
    - `dataset`: the name of a known data set that the images are of: decides their normalisation
    - `rule`: None: the method's own; a name or a `Rule` that answers instead
    - `recipe`: None: the method's own for the preset (`profile`, `epochs` adjust it)
    - `total_classes`: how many classes there will ever be, if known (iCaRL averages over them)
    - `pretrained`: the network starts from its published weights; without a `network` it is efficientnet-lite2
    - `weights`: a file the network starts from: a state dict (torchvision's layout or ours), or safetensors
    - `progress`: None: a bar where there is a terminal or a notebook
    """

    def __init__(
        self,
        method: str | Method = "fgp",
        memory: int | None = None,
        *,
        memory_per_class: int | None = None,
        keep_photos: bool = True,
        network: str | nn.Module | None = None,
        preset: str | None = None,
        dataset: str | None = None,
        rule: str | Rule | None = None,
        recipe: Recipe | None = None,
        inputs: Inputs | None = None,
        total_classes: int | None = None,
        seed: int = 1,
        epochs: int | None = None,
        profile: Profile = "official",
        selection: str | None = None,
        execution: Execution | None = None,
        progress: Progress | None = None,
        pretrained: bool = False,
        weights: Path | str | None = None,
    ) -> None:
        everything = locals()
        given = cast(Arguments, {name: everything[name] for name in parameters_of(Learner)})
        check_arguments(given)
        super().__init__(given, execution, default_progress() if progress is None else progress)

    # --- what users call -------------------------------------------------------------------------------------------

    def learn(self, images: ImagesLike, labels: Iterable[Name]) -> Self:
        """Learn from labelled images: new classes by their names, and more images of classes already known.

        Images of known classes are learned with the exemplars at hand and compete with them for a place in memory.
        """
        images = listed(images)
        inputs = self.inputs if self._state else self.setup_for(common_shape(images)).inputs
        pixels, names = labelled(images, labels, inputs)
        integers = self._check_names(names)
        known = self._state.classes if self._state else ()
        place = {name: number for number, name in enumerate(self.classes)}
        arriving = [name for name in dict.fromkeys(names) if name not in place]
        place |= {name: len(place) + number for number, name in enumerate(arriving)}
        first = max((label.id for label in known), default=-1) + 1
        everyone = known + tuple(ClassLabel(first + n, str(name)) for n, name in enumerate(arriving))
        numbers = torch.tensor([place[name] for name in names])
        self.learn_phase(LabelledImages(ArrayStore(pixels), torch.arange(len(pixels)), numbers, everyone))
        self.integer_names = integers
        return self

    def partial_fit(self, images: ImagesLike, labels: Iterable[Name]) -> Self:
        """The same as `learn`, under the name that users of scikit-learn look for."""
        return self.learn(images, labels)

    @overload
    def predict(self, images: ImagesLike) -> list[Name]: ...

    @overload
    def predict(self, images: ImagesLike, top: int) -> list[Ranking]: ...

    def predict(self, images: ImagesLike, top: int | None = None) -> list[Name] | list[Ranking]:
        """The name of each image's class; with `top`, for each image that many classes with their probabilities."""
        classes = self.classes
        if top is None:
            return [classes[number] for number in self.scores(images).argmax(1).tolist()]
        found = self.predict_proba(images)
        best = np.argsort(-found, axis=1, kind="stable")[:, : checked_top(top)]
        return [[(classes[n], float(row[n])) for n in order] for row, order in zip(found, best.tolist(), strict=True)]

    def scores(self, images: ImagesLike) -> npt.NDArray[np.float32]:
        """(images, classes) by the method's own rule, larger is better; columns are in the order of `classes`."""
        return self._scores(self._unlabelled(images)).numpy()

    def predict_proba(self, images: ImagesLike) -> npt.NDArray[np.float64]:
        """Calibrated probabilities (images, classes); columns are in the order of `classes`."""
        scores = self._scores(self._unlabelled(images))
        with self.runtime.active():
            return probabilities(scores, self.estimating.temperature(self.method.rule)).numpy()

    def answer(self, images: ImagesLike, top: int = 5) -> list[Answer]:
        """For each image the likeliest classes, whether it is of any of them, and the kept photos most like it."""
        data, rule = self._unlabelled(images), self.method.rule
        with self.runtime.active():
            temperature, unknown = self.estimating.temperature(rule), self.estimating.unknown()
            threshold = math.inf if unknown is None else float(unknown["threshold"])
            found = self._answers().details(data, rule, unknown)
            return [
                answer
                for details in found
                for answer in details.answers(self.class_names, temperature, threshold, checked_top(top))
            ]

    def evaluate(self, images: ImagesLike, labels: Iterable[Name]) -> Evaluation:
        """Accuracy on labelled images of known classes."""
        pixels, names = labelled(listed(images), labels, self.inputs)
        data = self._unlabelled(pixels)
        place = {name: number for number, name in enumerate(self.classes)}
        unknown = [name for name in dict.fromkeys(names) if name not in place]
        if unknown:
            raise ClassgrowError(
                f"The class {unknown[0]!r} has not been learned yet: learn it before evaluating on it."
            )
        truth = torch.tensor([place[name] for name in names])
        right = {rule: (predicted == truth).double() for rule, predicted in self.predictions(data).items()}
        mine = right[self.method.rule.name]
        return Evaluation(
            accuracy=float(mine.mean()),
            per_class={name: float(mine[truth == place[name]].mean()) for name in dict.fromkeys(names)},
            by_rule={name: float(hits.mean()) for name, hits in right.items()},
        )

    def score(self, images: ImagesLike, labels: Iterable[Name]) -> float:
        """The share of images whose class is predicted correctly."""
        return self.evaluate(images, labels).accuracy

    def forget(self, name: Name) -> Self:
        """Remove a class: its row, exemplars and statistics. What is known of the others stays as it is, to the bit.

        The network's weights, which learned from its images too, stay; no image and no name of it is left.
        """
        classes = self.classes
        if name not in classes or isinstance(name, bool):
            known = f"known are {', '.join(map(repr, classes[:10]))}" if classes else "nothing has been learned yet"
            raise ClassgrowError(f"There is no class {name!r} to forget: {known}.")
        if len(classes) == 1:
            raise ClassgrowError(f"{name!r} is the only class: make a new learner instead of forgetting it.")
        forget_class(self.state, self.method.rules, classes.index(name))
        return self

    @property
    def classes(self) -> list[Name]:
        """Names of the classes learned, in the order they were learned."""
        return self.class_names

    @property
    def classes_(self) -> npt.NDArray[np.str_] | npt.NDArray[np.int64]:
        """The same as an array, under the name that users of scikit-learn look for."""
        return np.array(self.classes)

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """The arguments it was made with."""
        return dict(self._given)

    def set_params(self, **params: Any) -> Self:
        """Other arguments, before anything was learned; afterwards only `progress` and `execution` may change."""
        unknown = [name for name in params if name not in parameters_of(type(self))]
        if unknown:
            raise ClassgrowError(f"A learner has no argument `{unknown[0]}`.{nearest_name(unknown[0], [*self._given])}")
        Learner(**{**self._given, **params})  # refuses before anything changes
        fixed = [name for name in params if name not in ("progress", "execution")]
        if self._state is not None and fixed:
            raise ClassgrowError(f"`{fixed[0]}` cannot change once something was learned: make a new learner.")
        state, names = self._state, self.integer_names
        settled = (self._setup, self.method)
        Learner.__init__(self, **{**self._given, **params})
        if state is not None:
            self._state, self.integer_names = state, names
            self._setup, self.method = settled
            state.network.to(self.runtime.device)
        return self

    def save(self, folder: Path | str) -> None:
        """Keep everything in a folder: to predict with it, or to go on learning, elsewhere or later."""
        from classgrow import bundle  # it knows us

        bundle.save(self, checked_path(folder))

    @classmethod
    def load(
        cls,
        folder: Path | str,
        method: str | Method | None = None,
        network: nn.Module | None = None,
        rule: str | Rule | None = None,
    ) -> Learner:
        """The learner in a saved folder; `method`, `network` and `rule` only where it was made with your own."""
        from classgrow import bundle

        return bundle.load(checked_path(folder), method, network, rule)

    # --- details ---------------------------------------------------------------------------------------------------

    def _unlabelled(self, images: ImagesLike) -> LabelledImages:
        classes = self.state.classes
        pixels = sized(listed(images), self.inputs)
        nothing = torch.zeros(len(pixels), dtype=torch.long)
        return LabelledImages(ArrayStore(pixels), torch.arange(len(pixels)), nothing, classes)

    def _check_names(self, names: list[Name]) -> bool:
        """Whether classes are whole numbers; they must be of one kind, in every phase."""
        integers = {isinstance(name, int) for name in names}
        if len(integers) > 1 or (self._state is not None and integers != {self.integer_names}):
            raise ClassgrowError("Class names must be all text or all whole numbers, the same in every phase.")
        return integers.pop()
