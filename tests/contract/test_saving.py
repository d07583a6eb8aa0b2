"""Save and load: the learner in the folder is the learner that was saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from classgrow.learner import Learner

Teach = Callable[..., Learner]


def test_a_loaded_learner_predicts_the_same_and_goes_on_the_same(
    name: str, teach: Teach, unseen_images: Callable[[int], np.ndarray], tmp_path: Path
) -> None:
    learner = teach(name, (2, 1))
    learner.save(tmp_path / "learner")
    loaded = Learner.load(tmp_path / "learner")
    images = unseen_images(5)
    assert loaded.classes == learner.classes == [0, 1, 2]
    both = [one.predictions(one._unlabelled(images)) for one in (learner, loaded)]
    assert both[0].keys() == both[1].keys()
    assert all(torch.equal(both[0][rule], both[1][rule]) for rule in both[0])
    assert loaded.predict(images) == learner.predict(images)
    for one in (learner, loaded):
        one.learn(images[15:], [3] * 5 + [4] * 5)
    before, after = (one.state.pack()[0] for one in (learner, loaded))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[part], after[part]) for part in before)
