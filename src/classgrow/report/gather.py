"""From records to groups: the same setting, trained the same way, by the same method, over class orders."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from classgrow import metrics
from classgrow.errors import ClassgrowError
from classgrow.recipes import RECIPES, method_options, recipe_for
from classgrow.records.official import OFFICIAL
from classgrow.records.record import Record
from classgrow.records.repeat import spec_of
from classgrow.records.summary import class_order_of, order_name, set_by_hand, summary
from classgrow.report.names import dataset_title, in_order, thousands
from classgrow.report.seeds import by_order, seeds_words
from classgrow.specs.paper import ITEMS, Metric
from classgrow.specs.reduction import PaperSetting, Reduction
from classgrow.specs.spec import Spec

Source = Literal["runs", "authors"]


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
        return self in _PAPER

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
        return f"{self.dataset}-{sum(self.sizes)}classes-{self.sizes[0]}plus{step}-{memory}"


_PAPER = frozenset(Setting.of_paper(one) for item in ITEMS.values() for one in item.settings)


@dataclass(frozen=True)
class Regimen:
    """How long and how runs were trained, and whose they are: what has to agree before numbers share a table."""

    profile: str = "official"
    epochs: int | None = None
    selection: str = "herding"
    source: Source = "runs"
    lr: float | None = None
    options: tuple[tuple[str, float], ...] = ()

    @property
    def changes(self) -> str:
        """ ", lr 0.4, strength 0.5" for runs with such numbers in place of the method's own; else ""."""
        return set_by_hand(self.lr, self.options)

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
        return "".join(f"-{part}" for part in parts if part)


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
    recipe: str
    recipe_key: tuple[str, str]
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
    value: str = ""
    """Which state of a method that is not from our catalogue ran."""
    seeds: tuple[int, ...] = ()
    """Those this is the mean of, where a class order has its runs pooled; see `seeds.by_order`."""

    @property
    def complete(self) -> bool:
        """Every phase of the scenario is recorded: only then do tables and figures count the run."""
        return self.phases_done == len(self.setting.sizes)

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


def _usual_rate(resolved: dict[str, Any]) -> float | None:
    recipe = RECIPES.get(resolved.get("recipe_name") or "", {}).get(resolved.get("kind") or "")  # type: ignore[arg-type]
    return recipe.first.lr if recipe else None


def _unusual_options(spec: dict[str, Any], resolved: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    """The numbers a run was given, without those that are the method's own on such data anyway."""
    given, taken = spec.get("options") or {}, resolved.get("options") or {}
    usual = method_options(resolved.get("method") or "", resolved.get("kind") or "")  # type: ignore[arg-type]
    return tuple(sorted((name, value) for name, value in given.items() if name in taken and usual.get(name) != value))


def run_of(record: Record) -> Run:
    """What the report keeps of a record."""
    spec, resolved = record.spec, record.resolved
    numbers = summary(record)
    dataset = resolved.get("dataset") or spec.get("dataset") or "unknown"
    seconds = sum(phase.seconds.total for phase in record.phases)
    class_order = class_order_of(record)
    return Run(
        identity=record.identity,
        method=resolved.get("method") or record.method.name,
        setting=Setting(dataset, tuple(record.phase_sizes), resolved.get("memory"), resolved.get("memory_per_class")),
        regimen=Regimen(
            profile=resolved.get("profile") or "official",
            epochs=spec.get("epochs"),
            selection=resolved.get("selection") or "herding",
            source="authors" if record.code == OFFICIAL else "runs",
            lr=None if spec.get("lr") == _usual_rate(resolved) else spec.get("lr"),
            options=_unusual_options(spec, resolved),
        ),
        order=order_name(record),
        class_order=class_order,
        seed=record.seed,
        spec=spec_of(record),
        recipe=json.dumps(resolved.get("recipe"), sort_keys=True),
        recipe_key=(resolved.get("recipe_name") or "", resolved.get("kind") or ""),
        classes_seen=tuple(phase.classes_seen for phase in record.phases),
        curve=numbers.curve,
        phase_accuracies=numbers.phase_accuracies,
        final=numbers.final,
        average=numbers.average,
        forgetting=numbers.forgetting,
        mad=numbers.mad,
        seconds=seconds if seconds > 0 else None,
        hardware=f"{record.hardware.cpu}, {record.execution.device}, {record.execution.threads} threads",
        epochs=((resolved.get("recipe") or {}).get("first") or {}).get("epochs"),
        phases_done=len(record.phases),
        status=record.status,
        error=record.error,
        value=resolved.get("value") or "",
    )


@dataclass(frozen=True)
class Spread:
    """Mean, lowest, highest and standard deviation (n - 1; None for one value) of n values."""

    mean: float
    low: float
    high: float
    std: float | None
    n: int


def spread(values: Iterable[float | None]) -> Spread | None:
    """Over the values that are known; None if there is none."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    std = statistics.stdev(known) if len(known) > 1 else None
    return Spread(statistics.fmean(known), min(known), max(known), std, len(known))


@dataclass(frozen=True)
class Results:
    """All runs, and the groups they form."""

    runs: tuple[Run, ...]
    regimens: tuple[Regimen, ...]
    _groups: dict[tuple[Regimen, Setting, str], tuple[Run, ...]]

    def group(self, regimen: Regimen, setting: Setting, method: str) -> tuple[Run, ...]:
        """Complete runs, by class order. A method without memory is the same at every memory size.

        Where a scenario has several orders, seeds of one order are averaged; with a single order they stand alone."""
        found = self._groups.get((regimen, setting, method), ())
        return found or self._groups.get((regimen, setting.scenario, method), ())

    def settings(self, regimen: Regimen) -> tuple[Setting, ...]:
        """Settings with complete runs; one without memory only where its scenario has no other."""
        found = dict.fromkeys(setting for one, setting, _ in self._groups if one == regimen)
        with_memory = {setting.scenario for setting in found if not setting.memoryless}
        kept = [one for one in found if not (one.memoryless and one in with_memory)]
        return tuple(
            sorted(kept, key=lambda one: (not one.in_paper, one.dataset, one.sizes, one.memory or 0, one.slug))
        )

    def methods(self, regimen: Regimen, setting: Setting) -> tuple[str, ...]:
        """Methods with complete runs in the setting, in the report's order."""
        places = {setting, setting.scenario}
        return in_order({method for one, place, method in self._groups if one == regimen and place in places})

    def count(self, regimen: Regimen, setting: Setting) -> int:
        """How many complete runs the setting has."""
        return sum(len(self.group(regimen, setting, method)) for method in self.methods(regimen, setting))

    def value(self, regimen: Regimen, setting: Setting, method: str, metric: Metric) -> Spread | None:
        """The metric over the group; the MAD is that of the phase accuracies averaged over orders, so it has no
        spread (METRICS: a single order's deviation is larger by nature)."""
        runs = self.group(regimen, setting, method)
        if metric != "mad":
            return spread(getattr(run, metric) for run in runs)
        value = metrics.mad_over_orders([run.phase_accuracies for run in runs]) if runs else None
        return None if value is None else Spread(value, value, value, None, len(runs))


def gather(runs: Iterable[Run]) -> Results:
    """Group runs. The same run found twice counts once: the one that got furthest."""
    best: dict[str, Run] = {}
    for run in runs:
        known = best.get(run.identity)
        if known is None or run.phases_done > known.phases_done:
            best[run.identity] = run
    unique = told_apart(tuple(best.values()))
    complete = [run for run in unique if run.complete]
    regimens = sorted({run.regimen for run in complete}, key=_regimen_order)
    members = {regimen: [run for run in complete if _belongs(run, regimen)] for regimen in regimens}
    kept = tuple(one for one in regimens if not _is_part(one, members))
    groups: dict[tuple[Regimen, Setting, str], list[Run]] = defaultdict(list)
    for regimen in kept:
        for run in members[regimen]:
            groups[regimen, run.setting, run.method].append(run)
    orders: dict[tuple[Regimen, Setting], set[tuple[int, ...]]] = defaultdict(set)
    for (regimen, setting, _), group in groups.items():
        orders[regimen, setting.scenario] |= {run.class_order for run in group}
    ordered: dict[tuple[Regimen, Setting, str], tuple[Run, ...]] = {}
    for (regimen, setting, method), group in groups.items():
        group.sort(key=lambda run: (run.order, run.seed))
        several = len(orders[regimen, setting.scenario]) > 1
        ordered[regimen, setting, method] = by_order(group) if several else tuple(group)
    return Results(unique, kept, ordered)


def told_apart(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    """Runs of a method that was edited in between stand under names of their own: "steady (5d309434)"."""
    states: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        states[run.method].add(run.value)
    edited = {method for method, values in states.items() if len(values) > 1}
    return tuple(
        replace(run, method=f"{run.method} ({short(run.value)})") if run.method in edited else run for run in runs
    )


def short(value: str) -> str:
    """Four digits of the settings and four of the code."""
    return "".join(part[:4] for part in value.split("-")) or "unknown"


def _regimen_order(regimen: Regimen) -> tuple[Any, ...]:
    own = (regimen.selection, regimen.lr or 0.0, regimen.options)
    return (regimen.source, regimen.profile != "official", -(regimen.epochs or 10**9), *own)


def _belongs(run: Run, regimen: Regimen) -> bool:
    """FGP with 70 epochs asked for and FGP with its own 70 are one run, which stands in both tables."""
    if run.regimen == regimen:
        return True
    if replace(run.regimen, epochs=regimen.epochs) != regimen or run.recipe == "null":
        return False
    try:
        recipe = recipe_for(*run.recipe_key, regimen.profile, regimen.epochs, regimen.lr)  # type: ignore[arg-type]
    except ClassgrowError:
        return False
    return json.dumps(json.loads(json.dumps(asdict(recipe))), sort_keys=True) == run.recipe


def _is_part(regimen: Regimen, members: dict[Regimen, list[Run]]) -> bool:
    """True if all runs of a shortened regimen stand in another one too."""
    mine = {run.identity for run in members[regimen]}
    return regimen.epochs is not None and any(
        mine <= {run.identity for run in others} for other, others in members.items() if other != regimen
    )


def words(runs: Iterable[Run]) -> str:
    """What was shortened in these runs in plain words, and how several seeds were counted."""
    runs = list(runs)
    if runs and runs[0].regimen.source == "authors":
        return "Source: the authors' published result files, not runs of this package."
    specs = [run.spec.model_copy(update={"order": run.order}) for run in runs if run.spec is not None]
    if not specs:
        return "Settings this version cannot read."
    reduction = Reduction.of(specs)
    some: list[str] = []
    settings = {run.setting for run in runs if not run.setting.memoryless}
    if len(settings) > 1 and not all(setting.in_paper for setting in settings):
        # Several settings in one table or figure: what only some have stands in their own names.
        reduction = replace(reduction, classes=None, first=None, step=None, memory=None)
        some = ["some settings have other classes or memories than the paper's, as their names say"]
    parts = [*reduction.parts(), *some]
    sentence = f"Shortened: {'; '.join(parts)}." if parts else f"{reduction.words().capitalize()}."
    return f"{sentence} {seeds_words(runs)}".strip()
