"""A method is a value: a head, the steps of a phase in order, and the rule that answers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from classgrow.errors import ClassgrowError
from classgrow.parts.heads import Head
from classgrow.parts.objective import Composable
from classgrow.parts.rules import LargestLogit, NearestClassMean, Rule
from classgrow.parts.selection import Selection
from classgrow.steps import Step, declared

_PLAIN_WORD = re.compile(r"[A-Za-z0-9_-]{1,40}")


@dataclass(frozen=True)
class Source:
    """Where a method comes from, and how ours differs: one sentence per departure, each with its reason."""

    title: str = ""
    authors: str = ""
    year: int = 0
    departures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Method:
    """What a paper proposes. `rule` answers; `others` are recorded beside it where they can be fitted.

    `recipe` names its row in `recipes`; `last_relu` keeps the backbone's last ReLU.
    """

    name: str
    head: Head
    steps: tuple[Step, ...]
    rule: Rule
    recipe: str = "fgp"
    last_relu: bool = False
    source: Source = field(default_factory=Source)
    others: tuple[Rule, ...] = (NearestClassMean(), LargestLogit())

    def __post_init__(self) -> None:
        for rule in (self.rule, *self.others):
            check_rule(rule)
        for step in self.steps:
            if not callable(getattr(step, "run", None)):
                raise ClassgrowError(f"{step!r} is not a step of {self.name}: give it a method run(state, phase).")

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rule that answers, then the others; each name once."""
        return tuple({rule.name: rule for rule in (self.rule, *self.others)}.values())

    @property
    def keeps_memory(self) -> bool:
        """Whether any step stores exemplars within the budget."""
        return any(declared(step).memory == "budget" for step in self.steps)

    @property
    def unlimited_memory(self) -> bool:
        return any(declared(step).memory == "everything" for step in self.steps)

    @property
    def held_out(self) -> float:
        """The share of the memory that is kept out of training."""
        return max((declared(step).held_out for step in self.steps), default=0.0)

    @property
    def objectives(self) -> tuple[Composable, ...]:
        """What each training step minimises, in order."""
        found = (declared(step).objective for step in self.steps)
        return tuple(objective for objective in found if objective is not None)

    @property
    def formula(self) -> str:
        """The objective of each training step, in order."""
        return "; then ".join(str(objective) for objective in self.objectives)

    def with_rule(self, rule: Rule) -> Method:
        """The same method answering by another rule; its own is recorded beside it."""
        check_rule(rule)
        if rule == self.rule:
            return self
        return replace(self, rule=rule, others=tuple(one for one in self.rules if one.name != rule.name))

    def with_selection(self, selection: Selection) -> Method:
        """The same method with another way to choose exemplars."""
        return replace(self, steps=tuple(_reselected(step, selection) for step in self.steps))

    def with_objective(self, objective: Composable) -> Method:
        """The same method with every training step on another objective."""
        return replace(self, steps=tuple(_retargeted(step, objective) for step in self.steps))

    def check_rules(self) -> None:
        """Refuses a method whose own rule cannot be fitted."""
        keeps = self.keeps_memory or self.unlimited_memory
        if not self.rule.applies(keeps, bool(self.objectives)):
            raise ClassgrowError(
                f"The rule {self.rule.name!r} needs exemplars, and {self.name} keeps none: choose another `rule` or "
                "another `method`."
            )


def check_rule(rule: Rule) -> None:
    """Refuses what cannot answer."""
    name = getattr(rule, "name", None)
    if not isinstance(name, str) or not _PLAIN_WORD.fullmatch(name):
        raise ClassgrowError(f"{rule!r} is not a rule: give it a `name` of letters, digits, - and _.")
    answers = isinstance(rule, Rule) and type(rule).scores is not Rule.scores
    if not answers or not (hasattr(rule, "title") and hasattr(rule, "formula")):
        raise ClassgrowError(
            f"The rule {name!r} does not say how it answers: derive it from classgrow.Rule, with a title, a formula "
            "and a method scores(outputs, fitted)."
        )


def _reselected(step: Step, selection: Selection) -> Step:
    change = declared(step).with_selection
    return step if change is None else change(selection)


def _retargeted(step: Step, objective: Composable) -> Step:
    change = declared(step).with_objective
    return step if change is None else change(objective)
