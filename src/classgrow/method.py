"""A method is a value: a head, the steps of a phase in order, and the rule that answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from classgrow.parts.heads import Head
from classgrow.parts.rules import Rule
from classgrow.parts.selection import Selection
from classgrow.steps import Remember, RememberEverything, Step, Train


@dataclass(frozen=True)
class Source:
    """Where a method comes from, and how ours differs: one sentence per departure, each with its reason."""

    title: str = ""
    authors: str = ""
    year: int = 0
    departures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Method:
    """What a paper proposes. `recipe` names its row in `recipes`; `last_relu` keeps the backbone's last ReLU."""

    name: str
    head: Head
    steps: tuple[Step, ...]
    rule: Rule
    recipe: str = "fgp"
    last_relu: bool = False
    source: Source = field(default_factory=Source)

    @property
    def keeps_memory(self) -> bool:
        """Whether any step stores exemplars within the budget."""
        return any(isinstance(step, Remember) for step in self.steps)

    @property
    def unlimited_memory(self) -> bool:
        return any(isinstance(step, RememberEverything) for step in self.steps)

    @property
    def formula(self) -> str:
        """The objective of each training step, in order."""
        return "; then ".join(str(step.objective) for step in self.steps if isinstance(step, Train))

    def with_selection(self, selection: Selection) -> Method:
        """The same method with another way to choose exemplars."""
        steps = tuple(replace(step, selection=selection) if isinstance(step, Remember) else step for step in self.steps)
        return replace(self, steps=steps)
