"""The classifier among scikit-learn's tools."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'classgrow[sklearn]'")

from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError
from classgrow.learner import Learner
from classgrow.sklearn import ClassGrowClassifier

Patches = Callable[..., tuple[np.ndarray, np.ndarray]]
PAGE = Path(__file__).parents[2] / "docs" / "sklearn.md"


def classifier(**settings: Any) -> ClassGrowClassifier:
    return ClassGrowClassifier(**{"memory": 24, "epochs": 8, "execution": Execution(threads=1), **settings})


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    rows, labels = load_digits(return_X_y=True)
    return rows, labels


def test_partial_fit_over_phases_is_learn_in_the_same_order(digits: tuple[np.ndarray, np.ndarray]) -> None:
    rows, labels = digits
    pixels = np.rint(rows * (255 / 16)).astype(np.uint8).reshape(-1, 8, 8)
    one = classifier(random_state=4)
    learner = Learner(memory=24, epochs=8, seed=4, execution=Execution(threads=1))
    for phase in ([7, 2], [9], [2, 0]):  # two new classes, one, and one more with further images of a known one
        chosen = np.flatnonzero(np.isin(labels, phase))[-60:]
        one.partial_fit(rows[chosen], labels[chosen])
        learner.learn(pixels[chosen], labels[chosen])
    assert one.classes_.tolist() == [0, 2, 7, 9] == sorted(learner.classes) != learner.classes
    assert one.predict(rows[:300]).tolist() == learner.predict(pixels[:300])
    place = [learner.classes.index(name) for name in one.classes_.tolist()]
    assert np.array_equal(one.predict_proba(rows[:300]), learner.predict_proba(pixels[:300])[:, place])
    assert np.array_equal(one.decision_function(rows[:300]), learner.scores(pixels[:300])[:, place])


def test_images_and_rows_are_the_same(patches: Patches) -> None:
    images, labels = patches([5, 2, 8])
    one, other = classifier().fit(images, labels), classifier().fit(images.reshape(36, -1), labels)
    more, _ = patches([5, 8], seed=3)
    assert one.n_features_in_ == other.n_features_in_ == 64
    scores = one.decision_function(more)
    assert np.array_equal(scores, other.decision_function(more))
    assert np.array_equal(scores, one.decision_function(list(more[..., None])))
    assert np.array_equal(scores, one.decision_function(more.reshape(24, -1)))


def test_scores_of_single_images_are_those_of_all_together_to_five_digits(patches: Patches) -> None:
    """Instead of check_methods_subset_invariance, which wants seven; the discriminant's scores differ most."""
    images, labels = patches([5, 2, 8])
    one = classifier(rule="discriminant").fit(images, labels)
    singly = np.concatenate([one.decision_function(image[None]) for image in images])
    np.testing.assert_allclose(singly, one.decision_function(images), rtol=1e-5, atol=1e-5)


def test_probabilities_and_scores_belong_to_sorted_classes(patches: Patches) -> None:
    images, labels = patches([7, 0])
    names = np.array(["seven" if label == 7 else "none" for label in labels])
    one = classifier(epochs=20).fit(images, names)
    assert one.learner_.classes == ["seven", "none"] and one.classes_.tolist() == ["none", "seven"]
    predicted = one.predict(images)
    assert one.score(images, names) == np.mean(predicted == names) > 0.9
    assert np.array_equal(one.decision_function(images) > 0, predicted == "seven")
    assert np.array_equal(one.predict_proba(images)[:, 1] > 0.5, predicted == "seven")
    np.testing.assert_allclose(one.predict_proba(images).sum(1), 1)


@pytest.mark.parametrize("names", [[False, True], [1.0, 2.0], [-1, 1]])
def test_labels_come_back_as_they_were(patches: Patches, names: list[Any]) -> None:
    images, labels = patches([0, 8])
    given = np.array(names)[(labels == 8).astype(int)]
    one = classifier().fit(images, given)
    assert one.classes_.tolist() == names and one.predict(images).dtype == given.dtype


def test_fit_begins_anew_and_equal_seeds_are_equal(patches: Patches) -> None:
    first, second = patches([5, 2]), patches([8, 0, 4])
    one = classifier().fit(*first).fit(*second)
    assert one.classes_.tolist() == [0, 4, 8]
    other = clone(one).fit(*second)
    assert np.array_equal(one.predict_proba(second[0]), other.predict_proba(second[0]))
    third = classifier(random_state=2).fit(*second)
    assert not np.array_equal(one.predict_proba(second[0]), third.predict_proba(second[0]))


def test_a_random_state_draws_the_seed(patches: Patches) -> None:
    images, labels = patches([5, 2])
    seeds = [
        classifier(epochs=1, random_state=state).fit(images, labels).learner_.seed
        for state in (np.random.RandomState(3), np.random.RandomState(3), np.int64(9), None, None)
    ]
    assert seeds[0] == seeds[1] == np.random.RandomState(3).randint(2**31 - 1)
    assert seeds[2] == 9 and len(set(seeds)) == 4


def test_it_forgets(patches: Patches) -> None:
    images, labels = patches([5, 2, 8])
    one = classifier().fit(images, labels)
    before = one.decision_function(images)
    assert one.forget(np.int64(5)).classes_.tolist() == [2, 8] and one.learner_.classes == [2, 8]
    assert np.array_equal(one.decision_function(images), before[:, 2] - before[:, 0])
    with pytest.raises(ClassgrowError, match="no class 5"):
        one.forget(5)


def test_a_pickled_one_predicts_and_goes_on_as_before(patches: Patches) -> None:
    one = classifier(method="bic", memory=40).fit(*patches([5, 2]))
    content = pickle.dumps(one)
    assert b"torch" not in content  # a pickle names the code it runs
    other = pickle.loads(content)
    more = patches([8, 0])
    for each in (one, other):
        each.partial_fit(*more)
    assert other.classes_.tolist() == [0, 2, 5, 8]
    assert np.array_equal(one.predict_proba(more[0]), other.predict_proba(more[0]))
    assert pickle.loads(pickle.dumps(classifier(epochs=3))).epochs == 3


def test_grid_search_and_pipeline(patches: Patches) -> None:
    """Another step may stand before it; the search tries how many exemplars to keep, and which rule."""
    images, labels = patches([5, 2, 8], per_class=18)
    rows = images.reshape(len(images), -1) / 255
    search = GridSearchCV(
        make_pipeline(FunctionTransformer(np.sqrt), classifier(epochs=20)),
        {"classgrowclassifier__memory": [3, 24], "classgrowclassifier__rule": ["nearest", "discriminant"]},
        cv=2,
        error_score="raise",
    ).fit(rows, labels)
    assert search.best_score_ > 0.9 and len(search.cv_results_["params"]) == 4
    assert search.predict(rows).shape == (54,)
    best = search.best_estimator_[-1]
    assert best.learner_.get_params()["memory"] == search.best_params_["classgrowclassifier__memory"]


def test_classes_may_be_announced(patches: Patches) -> None:
    images, labels = patches([5, 2])
    one = classifier(epochs=1).partial_fit(images, labels, classes=[2, 5, 8])
    assert one.learner_.total_classes == 3 and one.classes_.tolist() == [2, 5]
    with pytest.raises(ValueError, match="The class 8 in y is not among `classes`"):
        one.partial_fit(*patches([8]), classes=[2, 5])
    assert classifier(epochs=1).partial_fit(images, labels).learner_.total_classes is None


def test_tables_are_not_shifted_and_images_are(patches: Patches) -> None:
    random = np.random.default_rng(0)
    labels = np.arange(30) % 2
    with pytest.warns(UserWarning, match="not square images"):
        table = classifier(epochs=1).fit(random.normal(size=(30, 10)), labels)
    assert table.pixel_format_.shape == (4, 4, 1) and table.learner_.inputs.padding == 0
    assert classifier(epochs=1).fit(*patches([5, 2])).learner_.inputs.padding == 1


def test_wrong_arguments_wait_for_fit_and_are_told_in_one_sentence(patches: Patches) -> None:
    for settings, words in (
        ({"memory": -5}, "`memory` = -5"),
        ({"profile": "x"}, "`profile` = 'x'"),
        ({"image_shape": (4, 4)}, "`image_shape` = (4, 4)"),
    ):
        one = classifier(**settings)  # type: ignore[arg-type]
        with pytest.raises(ClassgrowError, match=re.escape(words)):
            one.fit(*patches([5, 2]))
        with pytest.raises(NotFittedError):
            one.predict(patches([5])[0])


def test_its_arguments_are_those_of_the_learner() -> None:
    own = {"image_shape", "value_range", "random_state", "verbose"}
    assert ClassGrowClassifier().get_params().keys() - own == Learner().get_params().keys() - {"seed", "progress"}


def test_without_scikit_learn_one_sentence_names_the_extra() -> None:
    code = "import sys; sys.modules['sklearn'] = None; import classgrow.learner; import classgrow.sklearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith("classgrow.sklearn needs scikit-learn 1.6 or newer: pip install 'classgrow[sklearn]'.")


def test_digits_are_told_apart_in_cross_validation_by_the_code_on_the_page() -> None:
    """Three folds, ten epochs: 95 %, 98 % and 98 % when this was written."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["found"].min() > 0.9 and names["found"].mean() > 0.93
    assert names["classifier"].classes_.tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9]
