"""More images of classes that are known, and classes that are to be forgotten; for every method."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from classgrow.data.digits import load_digits
from classgrow.data.labelled import LabelledImages
from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError
from classgrow.learner import Learner
from classgrow.methods import METHODS
from classgrow.networks.small import SmallNet

Patches = Callable[..., tuple[np.ndarray, np.ndarray]]


def learner(method: str = "fgp", **settings: object) -> Learner:
    settings = {"memory": 24, "epochs": 2, "execution": Execution(threads=1), **settings}
    return Learner(method, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS)
def test_known_classes_alone_mixed_and_forgotten(method: str, patches: Patches) -> None:
    """Two classes, more of one of them, then another with a new class, then a class is forgotten, then learned anew."""
    one = learner(method).learn(*patches([5, 2], per_class=8))
    one.learn(*patches([2], per_class=6, seed=1))
    assert one.classes == [5, 2] and one.state.sizes == (2, 0) and one.state.network.head.classes == 2
    one.learn(*patches([5, 7], per_class=6, seed=2))
    assert one.classes == [5, 2, 7] and one.state.sizes == (2, 0, 1)
    budget = one.state.memory.budget.total
    if one.method.keeps_memory:
        assert budget is not None and set(one.state.memory.labels.tolist()) == {0, 1, 2}
        assert all(int(count) <= budget // 3 for count in torch.bincount(one.state.memory.labels))
    one.forget(5)
    assert one.classes == [2, 7] and one.state.sizes == (1, 0, 1)
    images, labels = patches([2, 7], per_class=3, seed=5)
    assert set(one.predict(images)) <= {2, 7} and 0 <= one.score(images, labels) <= 1
    one.learn(*patches([5], per_class=6))
    assert one.classes == [2, 7, 5] and one.scores(images).shape == (6, 3)
    assert np.isfinite(one.scores(images)).all()


def test_more_images_compete_for_a_place_in_memory(patches: Patches) -> None:
    """Four exemplars of each class; images of class 2 that are herded better than the old ones take their place."""
    one = learner(memory=8).learn(*patches([5, 2], per_class=4))
    memory = one.state.memory
    before = {label: memory.images[memory.labels == label].clone() for label in (0, 1)}
    more, labels = patches([2], per_class=12, seed=7)
    one.learn(more, labels)
    kept = memory.images[memory.labels == 1]
    assert torch.bincount(memory.labels).tolist() == [4, 4]
    assert torch.equal(memory.images[memory.labels == 0], before[0])
    candidates = {image.tobytes() for image in np.concatenate((before[1].numpy()[..., 0], more))}
    assert {image.tobytes() for image in kept.numpy()[..., 0]} <= candidates
    assert not torch.equal(kept, before[1])
    assert memory.ranks[memory.labels == 1].tolist() == [0, 1, 2, 3]


def test_more_images_make_a_class_better() -> None:
    """Two images of each of four digits say little; sixty more of each, later, help."""
    digits = load_digits()
    train, test = digits.train.of([3, 5, 8, 9]), digits.test.of([3, 5, 8, 9])
    order = {label: torch.nonzero(train.labels == label)[:, 0] for label in (3, 5, 8, 9)}
    few, more = (train.select(torch.cat([one[part] for one in order.values()])) for part in (slice(2), slice(2, 62)))

    def given(view: LabelledImages) -> tuple[torch.Tensor, list[int]]:
        return view.read(torch.arange(len(view))), view.labels.tolist()

    one = learner(epochs=15).learn(*given(few))
    before = one.score(*given(test))
    assert one.learn(*given(more)).score(*given(test)) > before + 0.1


class Still(SmallNet):
    """A network that cannot learn: features stand still, as with pretrained ones."""

    def __init__(self) -> None:
        super().__init__(1)
        self.eval().requires_grad_(False)

    def train(self, mode: bool = True) -> Still:
        return super().train(False)


@pytest.fixture
def still_method() -> object:
    from classgrow.method import Method
    from classgrow.parts.discriminant import LinearDiscriminant
    from classgrow.parts.heads import LinearHead
    from classgrow.steps import Grow

    return Method("still", LinearHead(), (Grow(),), LinearDiscriminant())


def test_with_features_that_stand_still_nothing_depends_on_the_order(still_method, patches: Patches) -> None:
    """Class by class, with more images later, or all at once: the same scores; and no memory is needed."""
    torch.manual_seed(0)
    network = Still()
    images, labels = patches([1, 4, 6], per_class=10)
    once = learner(still_method, network=network).learn(images, labels)
    parts = learner(still_method, network=network)
    for chosen in (
        labels == 6,
        (labels == 1) & (np.arange(30) % 2 == 0),
        labels == 4,
        (labels == 1) & (np.arange(30) % 2 == 1),
    ):
        parts.learn(images[chosen], labels[chosen])
    test, _ = patches([1, 4, 6], per_class=5, seed=3)
    columns = [parts.classes.index(name) for name in once.classes]
    np.testing.assert_allclose(parts.scores(test)[:, columns], once.scores(test), rtol=1e-4, atol=1e-4)
    alone = learner(still_method, network=network).learn(images[labels != 4], labels[labels != 4])
    np.testing.assert_allclose(once.forget(4).scores(test), alone.scores(test), rtol=1e-4, atol=1e-4)


def test_a_forgotten_class_leaves_nothing_in_a_saved_folder(patches: Patches, tmp_path: Path) -> None:
    images, labels = patches([5, 2, 8], per_class=6)
    names = [{5: "cat", 2: "secret", 8: "fox"}[label] for label in labels.tolist()]
    one = learner().learn(images, names)
    rows, means = one.state.network.head.rows().clone(), one.state.fitted["nearest"]["means"].clone()
    pictures = one.state.memory.images[one.state.memory.labels == 1].numpy()
    one.forget("secret").save(tmp_path / "model")
    content = b"".join(path.read_bytes() for path in (tmp_path / "model").iterdir())
    assert b"secret" not in content and b"fox" in content
    assert not any(picture.tobytes() in content for picture in pictures)
    assert rows[1].detach().numpy().tobytes() not in content and means[1].numpy().tobytes() not in content
    assert torch.equal(one.state.network.head.rows(), rows[[0, 2]])
    assert torch.equal(one.state.fitted["nearest"]["means"], means[[0, 2]])
    assert Learner.load(tmp_path / "model").classes == ["cat", "fox"]


def test_what_cannot_be_forgotten(patches: Patches) -> None:
    one = learner().learn(*patches([5, 2], per_class=4))
    with pytest.raises(ClassgrowError, match="There is no class 7 to forget"):
        one.forget(7)
    with pytest.raises(ClassgrowError, match="2 is the only class"):
        one.forget(5).forget(2)
    assert one.classes == [2]
    with pytest.raises(ClassgrowError, match="There is no class 5 to forget"):
        learner().forget(5)
