"""What is smaller than in the paper: as parameters, and in plain words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from classgrow.data.catalogue import DATASETS, dataset_title
from classgrow.data.facts import protocol_for
from classgrow.errors import ClassgrowError
from classgrow.recipes import FAST, MATCHED_EPOCHS, RECIPES, Profile
from classgrow.specs.orders import PUBLISHED
from classgrow.specs.spec import Spec

PAPER_DATASETS = ("cifar100", "imagenet100")
PAPER_CLASSES = 100
PAPER_FIRST = (5, 10, 50, PAPER_CLASSES)
PAPER_STEPS = (5, 10)
PAPER_MEMORIES = (1000, 2000)
FULL_SIZE = "full size: class orders, epochs, classes and memory as in the paper"


@dataclass(frozen=True)
class Reduction:
    """Which part of the paper's grid is wanted, and how much each run is shortened. None: as in the paper."""

    datasets: tuple[str, ...] | None = None
    orders: tuple[str, ...] | None = None
    epochs: int | None = None
    classes: int | None = None
    first: int | None = None
    step: int | None = None
    memory: int | None = None
    profile: Profile = "official"
    seed: int = 1
    lr: float | None = None
    options: tuple[tuple[str, float], ...] = ()
    network: str = ""
    rule: str = ""
    preset: str = ""

    @classmethod
    def of(cls, specs: Iterable[Spec]) -> Reduction:
        """How specs of one setting (or of several that the paper has) differ from the paper."""
        specs = list(specs)
        if not specs:
            raise ValueError("no spec to describe")
        datasets = _distinct(spec.dataset for spec in specs)
        orders = _distinct(
            spec.order or protocol_for(DATASETS.find(spec.dataset), PAPER_CLASSES).order for spec in specs
        )
        first = _outside(PAPER_FIRST, (spec.first for spec in specs))
        return cls(
            datasets=None if set(datasets) == set(PAPER_DATASETS) else datasets,
            orders=None if set(orders) == set(PUBLISHED) else orders,
            epochs=_outside((), (spec.epochs for spec in specs)),
            classes=_outside((PAPER_CLASSES,), (spec.classes for spec in specs)),
            first=first,
            step=_outside(PAPER_STEPS, (spec.step for spec in specs)),
            memory=_outside(PAPER_MEMORIES, (spec.memory for spec in specs)),
            profile=specs[0].profile,
            seed=specs[0].seed,
            lr=specs[0].lr,
            options=tuple(specs[0].options.items()),
        )

    def words(self) -> str:
        """What was shortened, in plain words: "3 of 5 class orders; 7 of 70 epochs; 20 of 100 classes, ..."."""
        return "; ".join(self.parts()) or FULL_SIZE

    def parts(self) -> list[str]:
        """One phrase for each thing that differs from the paper."""
        phrases = (
            self._dataset_words(),
            self._order_words(),
            self._epoch_words(),
            self._class_words(),
            f"a memory of {self.memory:,} images instead of 1,000 or 2,000" if self.memory else "",
            f"first learning rate set to {self.lr:.15g}" if self.lr is not None else "",
            *(f"{name} set to {value:.15g}" for name, value in self.options),
            f"with the network {self.network}" if self.network else "",
            f"answered by the rule {self.rule}" if self.rule else "",
            f"trained by the preset {self.preset}" if self.preset else "",
        )
        return [phrase for phrase in phrases if phrase]

    def _dataset_words(self) -> str:
        if self.datasets is None:
            return ""
        titles = " and ".join(dataset_title(name) for name in self.datasets)
        inside = set(self.datasets) <= set(PAPER_DATASETS)
        return f"{titles} only" if inside else f"{titles}, which the paper does not use"

    def _order_words(self) -> str:
        if self.orders is None:
            return ""
        published = [order for order in self.orders if order in PUBLISHED]
        own = len(self.orders) - len(published)
        parts = [f"{len(published)} of 5 class orders"] if published else []
        if own:
            parts.append(f"{own} {'' if published else f'class order{plural(own)} '}of our own")
        return " and ".join(parts)

    def _epoch_words(self) -> str:
        if self.profile == "matched":
            length = f"{self.epochs} of {MATCHED_EPOCHS}" if self.epochs else f"{MATCHED_EPOCHS}"
            return f"every phase of every method takes {length} epochs"
        if self.profile == "fast":
            return self._fast_words()
        if self.epochs is None:
            return ""
        full = _full_epochs(self.datasets or PAPER_DATASETS)
        return f"{self.epochs} of {full} epochs (FGP's; other methods' in proportion)" if full else self._plain_epochs()

    def _fast_words(self) -> str:
        """With the share of FGP's image-steps in ten phases of 5,000 new images beside a memory of 2,000."""
        if self.epochs:
            return f"the fast profile with {self.epochs} epochs in the first phase (others in proportion)"
        first, later = 5000, 9 * 7000
        share = (FAST.first_epochs * first + FAST.later_epochs * later) / (first + later)
        return f"the fast profile: {float(share):.0%} of the image-steps in ten phases of ten classes"

    def _plain_epochs(self) -> str:
        return f"{self.epochs} epochs"

    def _class_words(self) -> str:
        if self.classes is None and self.first is None and self.step is None:
            return ""
        known = set(self.datasets or PAPER_DATASETS) <= set(PAPER_DATASETS)
        phrases = [f"{self.classes} {f'of {PAPER_CLASSES} ' if known else ''}classes"] if self.classes else []
        if self.first:
            phrases.append(f"{self.first} in the first phase")
        if self.step:
            phrases.append(f"{self.step} in each later one")
        return ", ".join(phrases)


@dataclass(frozen=True)
class PaperSetting:
    """A scenario of the paper (or what a reduction makes of it): data, classes per phase, memory."""

    dataset: str
    first: int
    step: int
    memory: int
    classes: int = PAPER_CLASSES

    def reduced(self, reduction: Reduction) -> PaperSetting | None:
        """The setting with what the reduction fixes; None if it is left out or its first phase no longer fits."""
        if reduction.datasets is not None and self.dataset not in reduction.datasets:
            return None
        classes = reduction.classes or self.classes
        at_once = self.first == self.classes
        setting = PaperSetting(
            dataset=self.dataset,
            first=reduction.first or (classes if at_once else self.first),
            step=reduction.step or self.step,
            memory=reduction.memory or self.memory,
            classes=classes,
        )
        return setting if setting.first <= setting.classes else None

    def spec(self, method: str, order: str, reduction: Reduction) -> Spec:
        """One run. Equal runs of different tables and figures are equal specs."""
        return Spec(
            dataset=self.dataset,
            method=method,
            profile=reduction.profile,
            memory=self.memory,
            first=self.first,
            step=self.step,
            order=order,
            seed=reduction.seed,
            epochs=reduction.epochs,
            classes=None if self.classes == PAPER_CLASSES else self.classes,
        )


def plural(count: int) -> str:
    return "" if count == 1 else "s"


def check_datasets(reduction: Reduction) -> None:
    """Refuses a data set the paper does not use."""
    for name in reduction.datasets or ():
        if name not in PAPER_DATASETS:
            raise ClassgrowError(f"The paper does not use {name!r}: choose from {', '.join(PAPER_DATASETS)}.")


def _full_epochs(datasets: Iterable[str]) -> str:
    """FGP's epochs on the data sets: "70", or "70 (CIFAR-100) or 60 (ImageNet-100)"; "" if one is unknown."""
    facts = [DATASETS.find(name) for name in datasets]
    presets = {one.title or one.name: one.preset for one in facts if one and one.preset}
    if len(presets) < len(facts):
        return ""
    epochs = {title: RECIPES["fgp"][preset].first.epochs for title, preset in presets.items()}
    if len(set(epochs.values())) == 1:
        return str(next(iter(epochs.values())))
    return " or ".join(f"{count} ({title})" for title, count in epochs.items())


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _outside(usual: tuple[int, ...], values: Iterable[int | None]) -> int | None:
    """The first value that is given and is not one of the paper's."""
    return next((value for value in values if value is not None and value not in usual), None)
