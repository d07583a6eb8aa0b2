from __future__ import annotations

import sys

import pytest
import torch

from classgrow.data.digits import load_digits
from classgrow.errors import ClassgrowError


def test_digits_are_split_per_class_and_scaled() -> None:
    """1,797 images; the first is a zero whose first row is 0 0 5 13 9 1 0 0 of 16."""
    pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'classgrow[demo]'")
    digits = load_digits()
    assert (len(digits.train), len(digits.test), digits.train.shape) == (1352, 445, (8, 8, 1))
    total = digits.train.counts() + digits.test.counts()
    assert torch.equal(digits.test.counts(), total // 4)
    assert [label.name for label in digits.classes] == list("0123456789")
    assert digits.train.labels[0] == 0
    assert digits.train.read(torch.tensor([0]))[0, 0].flatten().tolist() == [0, 0, 80, 207, 143, 16, 0, 0]
    assert not set(digits.train.indices.tolist()) & set(digits.test.indices.tolist())


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ClassgrowError, match=r"classgrow\[demo\]"):
        load_digits()
