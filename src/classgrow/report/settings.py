"""A setting: data, classes per phase and memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from classgrow.report.names import bounded, dataset_title, thousands
from classgrow.specs.paper import ITEMS
from classgrow.specs.reduction import PaperSetting


@dataclass(frozen=True)
class Setting:
    """Data, classes per phase and memory. Neither memory is set for a method that keeps no images."""

    dataset: str
    sizes: tuple[int, ...]
    memory: int | None
    memory_per_class: int | None = None

    @classmethod
    def of_paper(cls, setting: PaperSetting) -> Setting:
        whole, rest = divmod(setting.classes - setting.first, setting.step)
        sizes = (setting.first,) + (setting.step,) * whole + ((rest,) if rest else ())
        return cls(setting.dataset, sizes, setting.memory)

    @property
    def in_paper(self) -> bool:
        """One of the paper's; a method without memory is in it at every memory size."""
        return self in (_SCENARIOS if self.memoryless else _PAPER)

    @property
    def memoryless(self) -> bool:
        return self.memory is None and self.memory_per_class is None

    @property
    def scenario(self) -> Setting:
        """The setting without its memory."""
        return replace(self, memory=None, memory_per_class=None)

    @property
    def memory_title(self) -> str:
        if self.memory is not None:
            return f"{thousands(self.memory)} images"
        return f"{self.memory_per_class} images a class" if self.memory_per_class else "no memory"

    @property
    def title(self) -> str:
        """ "CIFAR-100, 20 classes, 4 + 4 a phase, 200 images"."""
        steps = f"{self.sizes[0]} + {self.sizes[1]} a phase" if len(self.sizes) > 1 else "one phase"
        return f"{dataset_title(self.dataset)}, {sum(self.sizes)} classes, {steps}, {self.memory_title}"

    @property
    def slug(self) -> str:
        step = self.sizes[1] if len(self.sizes) > 1 else 0
        memory = f"m{self.memory}" if self.memory else f"m{self.memory_per_class or 0}each"
        return bounded(f"{self.dataset}-{sum(self.sizes)}classes-{self.sizes[0]}plus{step}-{memory}")


_PAPER = frozenset(Setting.of_paper(one) for item in ITEMS.values() for one in item.settings)
_SCENARIOS = frozenset(setting.scenario for setting in _PAPER)
