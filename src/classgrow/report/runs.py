"""The few numbers of a record that tables and figures need, and the way the run was trained."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

from classgrow.errors import ClassgrowError
from classgrow.recipes import RECIPES, Recipe, adapted
from classgrow.records.departures import Departures, departures
from classgrow.records.official import OFFICIAL
from classgrow.records.record import Record
from classgrow.records.summary import class_order_of, order_name, summary
from classgrow.report.names import bounded
from classgrow.report.settings import Setting
from classgrow.specs.spec import Spec

Source = Literal["runs", "authors"]


@dataclass(frozen=True)
class Regimen:
    """How long and how runs were trained, and whose they are: what has to agree before numbers share a table."""

    profile: str = "official"
    epochs: int | None = None
    selection: str = "herding"
    source: Source = "runs"
    lr: float | None = None
    options: tuple[tuple[str, float], ...] = ()
    network: str = ""
    rule: str = ""
    preset: str = ""

    @property
    def changes(self) -> str:
        """ ", lr 0.4, network resnet20" for runs with such choices in place of the method's own; else ""."""
        return Departures(None, self.lr, self.options, self.network, self.rule, self.preset).words

    @property
    def slug(self) -> str:
        """What tells file names apart: "" for the paper's own, "-7epochs", "-matched-7epochs", "-authors"."""
        parts = [
            self.profile if self.profile != "official" else "",
            f"{self.epochs}epochs" if self.epochs else "",
            self.selection if self.selection != "herding" else "",
            *self.changes.replace(" ", "").split(","),
            "authors" if self.source == "authors" else "",
        ]
        return bounded("".join(f"-{part}" for part in parts if part))


@dataclass(frozen=True)
class Run:
    """The few numbers of a record that tables and figures need; fractions, by the headline rule."""

    identity: str
    method: str
    setting: Setting
    regimen: Regimen
    order: str
    class_order: tuple[int, ...]
    seed: int
    spec: Spec | None
    recipe: Recipe
    own_recipe: Recipe | None
    classes_seen: tuple[int, ...]
    curve: tuple[float | None, ...]
    phase_accuracies: tuple[float | None, ...]
    final: float | None
    average: float | None
    forgetting: float | None
    mad: float | None
    seconds: float | None
    hardware: str
    epochs: int | None
    phases_done: int
    status: str
    error: str | None
    image_steps: float | None = None
    """Images its training went over, repetitions counted; None where a phase was not measured."""
    full_image_steps: int = 0
    """The same for the paper's FGP on the same training sets."""
    precision: str = "float32"
    rule_curves: tuple[tuple[str, tuple[float | None, ...]], ...] = ()
    """The curve by each everyday rule."""
    numerics: int = 1
    started: str = ""
    value: str = ""
    """Which method of that name it was, where it is not of our catalogue."""
    seeds: tuple[int, ...] = ()
    """Those this is the mean of, where a class order has its runs pooled; see `seeds.by_order`."""

    @property
    def complete(self) -> bool:
        """Every phase of the scenario is recorded: only then do tables and figures count the run."""
        return self.phases_done == len(self.setting.sizes)

    @property
    def way(self) -> tuple[Recipe, int]:
        """What versions of this package may do otherwise for the same settings: the recipe and the arithmetic."""
        return self.recipe, self.numerics

    @property
    def standing(self) -> str:
        """ "finished", or how far it has come."""
        if self.complete:
            return "finished"
        far = f"{self.phases_done} of {len(self.setting.sizes)} phases"
        return far if self.status == "finished" else f"{self.status}, {far}"

    @property
    def pair(self) -> tuple[tuple[int, ...], int | None]:
        """Runs of two methods are compared where this agrees: the class order, and the seed unless seeds are pooled."""
        return self.class_order, None if self.seeds else self.seed

    def belongs(self, regimen: Regimen) -> bool:
        """FGP with 70 epochs asked for and FGP with its own 70 are one run, which stands in both tables."""
        if self.regimen == regimen:
            return True
        if replace(self.regimen, epochs=regimen.epochs) != regimen or self.own_recipe is None:
            return False
        try:
            return adapted(self.own_recipe, regimen.profile, regimen.epochs, regimen.lr) == self.recipe
        except ClassgrowError:  # a profile that this version does not know
            return False


def regimen_of(record: Record) -> Regimen:
    """How a run was trained, by what its record says."""
    departed = departures(record)
    return Regimen(
        profile=record.resolved.profile,
        selection=record.resolved.selection,
        source="authors" if record.code == OFFICIAL else "runs",
        **{field.name: getattr(departed, field.name) for field in fields(departed)},
    )


def run_of(record: Record) -> Run:
    """What the report keeps of a record."""
    resolved, numbers = record.resolved, summary(record)
    seconds = sum(phase.seconds.total for phase in record.phases)
    return Run(
        identity=record.identity,
        method=resolved.method,
        setting=Setting(resolved.dataset, resolved.sizes, resolved.memory, resolved.memory_per_class),
        regimen=regimen_of(record),
        order=order_name(record),
        class_order=class_order_of(record),
        seed=record.seed,
        spec=record.spec,
        recipe=resolved.recipe,
        own_recipe=record.own.recipe,
        classes_seen=tuple(phase.classes_seen for phase in record.phases),
        curve=numbers.curve,
        phase_accuracies=numbers.phase_accuracies or (None,) * len(record.phases),
        final=numbers.final,
        average=numbers.average,
        forgetting=numbers.forgetting,
        mad=numbers.mad,
        seconds=seconds if seconds > 0 else None,
        hardware=f"{record.hardware.cpu}, {record.execution.device}, {record.execution.threads} threads"
        + (f", {record.execution.precision}" if record.execution.precision != "float32" else ""),
        epochs=resolved.recipe.first.epochs,
        phases_done=len(record.phases),
        status=record.status,
        error=record.error,
        image_steps=image_steps(record),
        full_image_steps=full_image_steps(record),
        precision=record.execution.precision,
        rule_curves=tuple((rule.name, summary(record, rule.name).curve) for rule in record.everyday_rules),
        numerics=record.numerics,
        started=record.started,
        value=resolved.value,
    )


def image_steps(record: Record) -> float | None:
    """Images that all phases trained on, repetitions and second stages counted: by their rates and times."""
    measured = [phase.images_per_second for phase in record.phases]
    if not measured or any(rate is None for rate in measured):
        return None
    return sum((rate or 0.0) * phase.seconds.train for rate, phase in zip(measured, record.phases, strict=True))


def full_image_steps(record: Record) -> int:
    """What FGP's own epochs over the same training sets would be: the measure for every method."""
    recipe = RECIPES["fgp"][record.resolved.kind]
    epochs = [recipe.first.epochs, *(recipe.later.epochs for _ in record.phases)]
    return sum(count * phase.training_images for count, phase in zip(epochs, record.phases, strict=False))
