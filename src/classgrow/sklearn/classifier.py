"""`Learner` with the manners of a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from classgrow.data.intake import Name
from classgrow.errors import ClassgrowError
from classgrow.inputs import inputs_for
from classgrow.learner import Learner
from classgrow.presets import preset_for
from classgrow.progress import Silent
from classgrow.sklearn.packing import packed, unpacked
from classgrow.sklearn.pixels import Array, PixelFormat, Shape, format_for, rows_of

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as problem:
    raise ClassgrowError(
        "classgrow.sklearn needs scikit-learn 1.6 or newer: pip install 'classgrow[sklearn]'."
    ) from problem

SKIPPED_CHECKS = {
    "check_array_api_input": (
        "scikit-learn itself skips it unless SCIPY_ARRAY_API=1 is set before Python starts; with it, the check passes."
    ),
    "check_methods_subset_invariance": (
        "It wants scores to agree to 7 digits, whether images are scored together or one by one. Scores are 32-bit "
        "floats, whose last digits differ then, more or less by rule and machine; a test of ours asks for 5 digits."
    ),
}
"""Estimator checks of scikit-learn that are skipped, each with its reason; all others pass."""

Given = Any
"""What scikit-learn's tools hand over: anything, checked before it is used."""

OWN = ("image_shape", "value_range", "random_state", "verbose")
"""Arguments that are not handed on to the learner."""


class ClassGrowClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of images that learns new classes as they arrive, for scikit-learn's tools.

    X is an array of images (N, H, W) or (N, H, W, C), or the same in rows (N, H·W·C). Arguments that are not named
    here are those of `Learner`.

    image_shape   (H, W) or (H, W, C) of images in rows; None: the square with as many values
    value_range   the values that are black and white; None: 0 and 255 for uint8, else the range of the first X
    random_state  a whole number is the learner's seed; with a RandomState or None a seed is drawn
    verbose       show a bar where there is a terminal or a notebook

    Afterwards there are `learner_`, `classes_` (sorted), `n_features_in_` and `pixel_format_`.
    """

    learner_: Learner
    classes_: Array
    pixel_format_: PixelFormat
    n_features_in_: int

    def __init__(
        self,
        method: Given = "fgp",
        *,
        memory: int | None = None,
        memory_per_class: int | None = None,
        network: Given = None,
        preset: str | None = None,
        dataset: str | None = None,
        rule: Given = None,
        recipe: Given = None,
        inputs: Given = None,
        total_classes: int | None = None,
        epochs: int | None = None,
        profile: str = "official",
        selection: str | None = None,
        execution: Given = None,
        pretrained: bool = False,
        weights: Given = None,
        keep_photos: bool = True,
        image_shape: Shape | None = None,
        value_range: tuple[float, float] | None = None,
        random_state: Given = 1,
        verbose: bool = False,
    ) -> None:
        self.method = method
        self.memory = memory
        self.memory_per_class = memory_per_class
        self.network = network
        self.preset = preset
        self.dataset = dataset
        self.rule = rule
        self.recipe = recipe
        self.inputs = inputs
        self.total_classes = total_classes
        self.epochs = epochs
        self.profile = profile
        self.selection = selection
        self.execution = execution
        self.pretrained = pretrained
        self.weights = weights
        self.keep_photos = keep_photos
        self.image_shape = image_shape
        self.value_range = value_range
        self.random_state = random_state
        self.verbose = verbose

    # --- learning --------------------------------------------------------------------------------------------------

    def fit(self, X: Given, y: Given) -> Self:
        """Learn all of y's classes at once; what was known before is gone."""
        return self._begin(X, y, None)

    def partial_fit(self, X: Given, y: Given, classes: Given = None) -> Self:
        """Go on learning: new classes, or more images of known ones.

        `classes` may say which classes there will ever be. It is not needed: `classes_` holds those learned so far.
        Arguments that were changed since (`set_params`) count from the next `fit` on.
        """
        if not hasattr(self, "learner_"):
            return self._begin(X, y, classes)
        rows, labels, shape = self._checked(X, y, classes, reset=False)
        self.pixel_format_.check(shape)
        self.learner_.learn(self.pixel_format_.images(rows), plain_names(labels))
        self.classes_ = np.union1d(self.classes_, labels)
        return self

    def forget(self, name: Name) -> Self:
        """Remove a class, as `Learner.forget` does; what is known of the others stays as it is."""
        check_is_fitted(self, "learner_")
        self.learner_.forget(plain_names([name])[0])
        self.classes_ = self.classes_[self.classes_ != name]
        return self

    # --- answers ---------------------------------------------------------------------------------------------------

    def predict(self, X: Given) -> Array:
        """The class of each image."""
        best = self._scores(X).argmax(1)
        found: Array = self.classes_[best]
        return found

    def predict_proba(self, X: Given) -> npt.NDArray[np.float64]:
        """Calibrated probabilities (images, classes); columns are in the order of `classes_`."""
        images = self._images(X)
        return self.learner_.predict_proba(images)[:, self._columns()]

    def decision_function(self, X: Given) -> npt.NDArray[np.float64]:
        """Scores (images, classes) by the method's rule, larger is better; columns are in the order of `classes_`.

        Two classes are one column (images,), as scikit-learn has it: by how much the second class is better.
        """
        scores = self._scores(X).astype(np.float64)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    # --- what scikit-learn and pickle ask for ----------------------------------------------------------------------

    def __sklearn_tags__(self) -> Given:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    def __getstate__(self) -> dict[str, Given]:
        state = dict(super().__getstate__())
        if "learner_" in state:
            state["learner_"] = packed(state["learner_"])
        return state

    def __setstate__(self, state: dict[str, Given]) -> None:
        if "learner_" in state:
            state = {**state, "learner_": unpacked(state["learner_"])}
        super().__setstate__(state)

    # --- details ---------------------------------------------------------------------------------------------------

    def _begin(self, X: Given, y: Given, classes: Given) -> Self:
        rows, labels, shape = self._checked(X, y, classes, reset=True)
        form = format_for(rows, shape, self.image_shape, self.value_range)
        learner = self._new_learner(form, classes).learn(form.images(rows), plain_names(labels))
        self.learner_, self.pixel_format_, self.classes_ = learner, form, np.unique(labels)
        return self

    def _new_learner(self, form: PixelFormat, classes: Given) -> Learner:
        generator = check_random_state(self.random_state)
        seed = self.random_state if isinstance(self.random_state, int | np.integer) else generator.randint(2**31 - 1)
        settings = {name: value for name, value in self.get_params(deep=False).items() if name not in OWN}
        if classes is not None and self.total_classes is None:
            settings["total_classes"] = len(np.unique(classes))
        if self.inputs is None and form.values > self.n_features_in_:  # a table, whose columns keep their places
            settings["inputs"] = replace(inputs_for(preset_for(form.shape[0]), form.shape), crop="none", padding=0)
        return Learner(**settings, seed=int(seed), progress=None if self.verbose else Silent())

    def _checked(self, X: Given, y: Given, classes: Given, reset: bool) -> tuple[Array, Array, Shape | None]:
        """Rows and labels as scikit-learn checks them, and the shape of X's images if they are not rows already."""
        given, shape = rows_of(X)
        rows, labels = validate_data(self, given, y, reset=reset)
        check_classification_targets(labels)
        unexpected = [] if classes is None else np.setdiff1d(labels, classes).tolist()
        if unexpected:
            raise ValueError(
                f"The class {unexpected[0]!r} in y is not among `classes`: add it, or leave `classes` out."
            )
        return rows, labels, shape

    def _images(self, X: Given) -> npt.NDArray[np.uint8]:
        check_is_fitted(self, "learner_")
        given, shape = rows_of(X)
        self.pixel_format_.check(shape)
        return self.pixel_format_.images(validate_data(self, given, reset=False))

    def _scores(self, X: Given) -> npt.NDArray[np.float32]:
        images = self._images(X)
        return self.learner_.scores(images)[:, self._columns()]

    def _columns(self) -> list[int]:
        """Where the learner, which keeps the order of arrival, has each of `classes_`."""
        place = {name: number for number, name in enumerate(self.learner_.classes)}
        return [place[name] for name in plain_names(self.classes_)]


def plain_names(labels: Iterable[Given]) -> list[Name]:
    """Labels as a learner takes them: text, or whole numbers (also for truth values and floats such as 1.0)."""
    return [str(label) if isinstance(label, str) else int(label) for label in labels]
