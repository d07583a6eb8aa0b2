"""Dataclasses from JSON, checked and exactly as they were."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from classgrow.errors import ClassgrowError
from classgrow.specs.spec import ResolvedSpec, Spec, identity, resolve
from classgrow.specs.typed import typed


@dataclass(frozen=True)
class Inner:
    rate: float
    steps: tuple[int, ...] = ()


@dataclass(frozen=True)
class Outer:
    name: str
    mode: Literal["a", "b"]
    inner: Inner | None
    options: dict[str, float]
    flag: bool = False
    extra: str = ""


GOOD: dict[str, Any] = {"name": "x-1", "mode": "a", "inner": {"rate": 2, "steps": [1, 2]}, "options": {"base": 5.0}}


def test_values_keep_their_form_and_missing_ones_get_their_default() -> None:
    found = typed(Outer, GOOD)
    assert found == Outer("x-1", "a", Inner(2, (1, 2)), {"base": 5.0})
    assert type(found.inner.rate) is int and type(found.options["base"]) is float  # type: ignore[union-attr]
    assert typed(Outer, {**GOOD, "inner": None, "flag": True, "extra": ""}).inner is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 3}, "name is 3 and not a plain word"),
        ({"name": ""}, "name is  and not a plain word"),
        ({"name": ".."}, "name is .. and not a plain word"),
        ({"name": "a/b"}, "name is a/b and not a plain word"),
        ({"name": "a\x1b"}, r"name is 'a\x1b' and not a plain word"),
        ({"name": "x" * 65}, "…"),
        ({"mode": "c"}, "mode is c and not one of a, b"),
        ({"mode": []}, "mode is a list and not one of a, b"),
        ({"inner": 3}, "inner is 3 and not an object"),
        ({"inner": {}}, "inner.rate is missing"),
        ({"inner": {"rate": True}}, "inner.rate is True and not a finite number"),
        ({"inner": {"rate": float("nan")}}, "inner.rate is nan and not a finite number"),
        ({"inner": {"rate": 10**5000}}, "inner.rate is a number without end and not a finite number"),
        ({"inner": {"rate": 1, "steps": [1.5]}}, "inner.steps is 1.5 and not a whole number"),
        ({"options": [1]}, "options is a list and not names with values"),
        ({"options": {"../x": 1}}, "options is ../x and not a plain word"),
        ({"flag": 1}, "flag is 1 and not true or false"),
        ({"more": 1}, "this version does not know more"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ClassgrowError) as caught:
        typed(Outer, GOOD | change)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "spec",
    [
        Spec(dataset="cifar100", method="icarl", lr=1.0, options={"outputs": 4}),
        Spec(dataset="cifar100", method="eeil", profile="matched", memory_per_class=20, classes=20),
        Spec(dataset="cifar100", method="lucir", selection="random", order="seed:3", options={"base": 2.5}),
    ],
    ids=lambda spec: spec.method,
)
def test_a_resolved_spec_comes_back_to_the_letter(spec: Spec) -> None:
    resolved = resolve(spec, 100, spec.method, (32, 32, 3), data="abc123")
    again = ResolvedSpec.from_json(json.loads(json.dumps(resolved.to_json())))
    assert again == resolved
    assert json.dumps(again.to_json()) == json.dumps(resolved.to_json())
    assert identity(again) == identity(resolved)
