"""A method as a short text: the same in every process, another for anything that was changed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from classgrow.experiments.outline import outline
from classgrow.experiments.run import prepare
from classgrow.method import Method, Source
from classgrow.methods import catalogue
from classgrow.methods.bic import bic
from classgrow.methods.catalogue import METHODS
from classgrow.methods.fgp import fgp
from classgrow.methods.fingerprint import fingerprint, settings_of, value_of
from classgrow.methods.icarl import icarl
from classgrow.parts.classification import CrossEntropy
from classgrow.parts.objective import Composable, Scale, Term
from classgrow.specs.spec import Spec, identity, resolve
from classgrow.steps import Grow, Train
from classgrow.views import BatchView

TERM = '''
from dataclasses import dataclass
from classgrow.parts.objective import Term

POWER = 2
NAMES = {"b", "a", "c"}

def measured(values):
    return values.abs() ** POWER

@dataclass(frozen=True)
class Own(Term):
    weight: float = 1.0

    @property
    def formula(self):
        return "own"

    def measure(self, view):
        """Says nothing that counts."""
        if view is None or "a" in {"b", "a"}:
            return 0, 1
        return measured(view.student.logits).sum() * self.weight, len(NAMES)
'''


def training_on(objective: Composable) -> Method:
    return replace(fgp(), name="own", steps=(Grow(), Train(objective)))


def own(source: str = TERM, **settings: Any) -> str:
    """The fingerprint of a method with the term of this source."""
    names: dict[str, Any] = {"__name__": "own_package"}
    exec(compile(source, "own_package.py", "exec", dont_inherit=True), names)
    return fingerprint(training_on(names["Own"](**settings)))


def test_ours_are_told_apart_by_their_settings() -> None:
    assert len({fingerprint(factory()) for factory in METHODS.values()}) == len(METHODS)
    for factory in METHODS.values():
        assert fingerprint(factory()) == fingerprint(factory())
        assert "-" not in fingerprint(factory())  # no code but ours
    assert fingerprint(fgp(0.2)) != fingerprint(fgp())
    assert fingerprint(bic(held_out=0.2)) != fingerprint(bic())
    assert fingerprint(icarl(4)) != fingerprint(icarl(100)) == fingerprint(icarl(100.0))


def test_words_change_nothing() -> None:
    assert fingerprint(replace(fgp(), name="other", source=Source("Another title"))) == fingerprint(fgp())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("values.abs()", "values.square()"),
        ("POWER = 2", "POWER = 3"),
        ('NAMES = {"b"', 'NAMES = {"d"'),
        ("return 0, 1", "return 0, 2"),
        ("* self.weight, len", "+ self.weight, len"),
        ('"a" in {"b", "a"}', '"a" in {"b", "c"}'),
    ],
)
def test_edited_code_is_another_method_with_the_same_settings(old: str, new: str) -> None:
    assert old in TERM
    before, after = own(), own(TERM.replace(old, new))
    assert before != after and settings_of(before) == settings_of(after)


def test_comments_docstrings_and_lines_say_nothing() -> None:
    source = TERM.replace("Says nothing that counts.", "Another word.").replace("POWER = 2", "\n# two\nPOWER = 2\n")
    assert own(source) == own() == own(weight=1)
    assert settings_of(own(weight=2.0)) != settings_of(own())


def test_it_is_the_same_in_every_process_and_after_use() -> None:
    program = "from test_fingerprint import own; print(own())"
    place = ":".join((str(Path(__file__).parent), *sys.path))
    found = set()
    for seed in ("1", "2"):  # decides the order of sets
        words, environment = [sys.executable, "-c", program], {"PYTHONHASHSEED": seed, "PYTHONPATH": place}
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
        found.add(done.stdout.strip())
    assert found == {own()}
    names: dict[str, Any] = {"__name__": "own_package"}
    exec(compile(TERM, "own_package.py", "exec", dont_inherit=True), names)
    for _ in range(1000):  # Python rewrites what runs often
        names["measured"](torch.ones(1))
        names["Own"]().measure(None)
    assert fingerprint(training_on(names["Own"]())) == own()


def kept(weight: float) -> Callable[[Any], float]:
    return lambda counts: weight


@lru_cache
def cached(counts: Any) -> float:
    return 1.0


class Plain(Term):
    """A plain class that holds what it likes."""

    formula = "P"

    def __init__(self, *held: Any) -> None:
        self.held = held

    def measure(self, view: BatchView) -> tuple[Tensor, float]:
        return torch.zeros(()), 1.0

    def method(self) -> None: ...


@dataclass(frozen=True)
class Wrapped:
    """A step of a user's own around another."""

    inner: object

    def run(self, state: Any, phase: Any) -> None: ...


def layer(seed: int) -> nn.Linear:
    torch.manual_seed(seed)
    return nn.Linear(2, 2)


PAIRS = [
    (lambda: CrossEntropy(), lambda: 2 * CrossEntropy()),
    (lambda: Scale("s", kept(1.0)) * CrossEntropy(), lambda: Scale("s", kept(2.0)) * CrossEntropy()),
    (lambda: Scale("s", lambda c: 1.0) * CrossEntropy(), lambda: Scale("s", lambda c: 3.0) * CrossEntropy()),
    (lambda: Scale("s", partial(max, 1)) * CrossEntropy(), lambda: Scale("s", partial(max, 2)) * CrossEntropy()),
    (lambda: Scale("s", cached) * CrossEntropy(), lambda: Scale("s", cached.__wrapped__) * CrossEntropy()),
    (lambda: Plain(torch.ones(2)), lambda: Plain(torch.zeros(2))),
    (lambda: Plain(np.ones(2)), lambda: Plain(np.ones(3))),
    (lambda: Plain(layer(1)), lambda: Plain(layer(2))),
    (lambda: Plain({"a": 1, "b": [2, None]}), lambda: Plain({"a": 1, "b": [2, 0]})),
    (lambda: Plain({1, 2}, Plain), lambda: Plain({1, 3}, Plain)),
    (lambda: Plain(Plain(1).method), lambda: Plain(Plain(2).method)),
    (lambda: Plain(Path("a"), True), lambda: Plain(Path("a"), 1)),
    (lambda: Plain(object()), lambda: Plain(None)),
]


@pytest.mark.parametrize(("make", "other"), PAIRS)
def test_what_terms_may_hold(make: Callable[[], Composable], other: Callable[[], Composable]) -> None:
    assert fingerprint(training_on(make())) == fingerprint(training_on(make()))
    assert fingerprint(training_on(make())) != fingerprint(training_on(other()))


def test_a_value_that_holds_itself_ends() -> None:
    one = Plain(1)
    one.held = (one,)
    assert fingerprint(training_on(one)) != fingerprint(training_on(Plain(1)))


def test_a_step_of_a_users_own_counts_with_what_it_wraps() -> None:
    def wrapping(inner: object) -> str:
        return fingerprint(replace(fgp(), steps=(Wrapped(inner),)))  # type: ignore[arg-type]

    assert wrapping(Grow()) == wrapping(Grow()) != wrapping(Grow(freeze_old=True))
    assert "-" in wrapping(Grow())


# --- identities ------------------------------------------------------------------------------------------------------


def test_the_value_stands_in_the_identity_of_other_methods_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Point:
        name = "mine"

        def load(self) -> Callable[..., Method]:
            return lambda strength=0.3: replace(fgp(strength), name="mine")

    monkeypatch.setattr(catalogue, "installed_points", lambda group: {"mine": Point()})
    spec = Spec(dataset="digits", method="mine")
    run = prepare(spec, tmp_path)
    assert run.resolved.value == fingerprint(fgp(0.3)) == run.resolved.to_json()["value"]
    assert outline(spec).identity == run.folder.name
    ours = prepare(Spec(dataset="digits"), tmp_path).resolved
    assert ours.value == value_of("fgp", fgp(7.0)) == "" and "value" not in ours.to_json()


def test_another_value_is_another_run() -> None:
    spec = Spec(dataset="digits", method="mine")
    found = [identity(resolve(spec, 10, "fgp", (8, 8, 1), value=value)) for value in ("", "a", "b")]
    assert len(set(found)) == 3
