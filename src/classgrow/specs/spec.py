"""What a run is: the settings as given, the same with every gap filled, and the identity made from them."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from classgrow.data.catalogue import DATASETS
from classgrow.data.facts import PaperProtocol, protocol_for
from classgrow.errors import ClassgrowError
from classgrow.inputs import Inputs
from classgrow.presets import PresetName
from classgrow.recipes import Profile, Recipe
from classgrow.specs.numerics import numerics_of
from classgrow.specs.options import check_names, explain, overridden, read_toml
from classgrow.specs.orders import is_order_file, resolve_order
from classgrow.specs.training import Asked, resolve_training
from classgrow.specs.typed import json_of, typed

Selection = Literal["herding", "random", "closest"]
Count = Annotated[int, Field(ge=1, lt=2**63)]
Word = Annotated[str, Field(min_length=1)]


def _as_text(value: object) -> object:
    """`order = 0` in a TOML file means the order named "0"."""
    return str(value) if type(value) is int else value


def _integral(value: float) -> float:
    """2.0 as 2: equal numbers are one run."""
    return int(value) if value == int(value) else value


Number = Annotated[float | int, Field(ge=0, le=10**9, allow_inf_nan=False), AfterValidator(_integral)]


class Spec(BaseModel):
    """The settings of a run. None means: the paper's value for the data set."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    dataset: Word = "cifar100"
    method: Word = "fgp"
    rule: Word | None = None
    network: Word | None = None
    preset: Word | None = None
    profile: Profile = "official"
    memory: Count | None = None
    memory_per_class: Count | None = None
    first: Count | None = None
    step: Count | None = None
    order: Annotated[str, Field(min_length=1), BeforeValidator(_as_text)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    epochs: Count | None = None
    classes: Count | None = None
    selection: Selection = "herding"
    phases: Count | None = None
    lr: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    options: dict[str, Number] = Field(default_factory=dict)

    def __hash__(self) -> int:
        plain = (value for name, value in self if name != "options")
        return hash((*plain, *sorted(self.options.items())))

    @model_validator(mode="after")
    def _one_memory(self) -> Self:
        if self.memory is not None and self.memory_per_class is not None:
            raise ClassgrowError(
                f"`memory` = {self.memory} and `memory_per_class` = {self.memory_per_class} contradict each other: "
                "give one of them."
            )
        return self

    @classmethod
    def from_options(cls, options: Mapping[str, object]) -> Spec:
        """A spec from names and values; None counts as not given. Anything wrong is a ClassgrowError."""
        check_names(options, tuple(cls.model_fields))
        try:
            return cls.model_validate({name: value for name, value in options.items() if value is not None})
        except ValidationError as error:
            raise explain(error) from None

    @classmethod
    def from_toml(cls, path: Path | str, overrides: Mapping[str, object] | None = None) -> Spec:
        """A spec from a TOML file; `overrides` that are not None win. An order file is looked for beside the TOML
        file first."""
        path = Path(path)
        settings = read_toml(path)
        order = settings.get("order")
        if isinstance(order, str) and is_order_file(order) and (path.parent / order).is_file():
            settings["order"] = str(path.parent / order)
        return cls.from_options(overridden(settings, overrides or {}))

    def to_json(self) -> dict[str, object]:
        """The settings as given, ready for JSON."""
        return self.model_dump(mode="json")


@dataclass(frozen=True)
class ResolvedSpec:
    """Everything that decides the numbers of a run, with no gap left.

    `order` holds the class ids that are learned, `sizes` how many in each phase. At most one of `memory` (in total)
    and `memory_per_class` is set, and neither for a method that keeps no images. `kind` is the preset. `data` is the
    fingerprint of images that the data set's name alone does not decide (a folder); `network` stands there where it
    is not the preset's own, `rule` where it is not the method's own, `value` (a digest) where the method is not ours.
    """

    dataset: str
    kind: PresetName
    method: str
    recipe_name: str
    profile: str
    memory: int | None
    memory_per_class: int | None
    sizes: tuple[int, ...]
    order: tuple[int, ...]
    seed: int
    selection: Selection
    recipe: Recipe
    inputs: Inputs
    options: dict[str, float | int]
    total_classes: int
    numerics: int
    data: str = ""
    network: str = ""
    rule: str = ""
    value: str = ""

    def to_json(self) -> dict[str, object]:
        """The same as JSON values: dicts, lists, numbers and words; without those that say nothing."""
        values = json_of(self)
        return {name: value for name, value in values.items() if value or name not in SAID_WHERE_NEEDED}

    @classmethod
    def from_json(cls, values: object) -> ResolvedSpec:
        """What `to_json` gave: it gives exactly that again. A field with a default may be missing; anything that does
        not fit is a ClassgrowError."""
        return typed(cls, values, "resolved")


SAID_WHERE_NEEDED = frozenset({"data", "network", "rule", "value"})
"""Settings that do not change an identity while they are empty."""


def resolve(
    spec: Spec,
    class_count: int,
    recipe_name: str,
    shape: tuple[int, int, int],
    *,
    keeps_memory: bool = True,
    data: str = "",
    own_options: Mapping[str, float] | None = None,
    own_rule: str = "",
    value: str = "",
) -> ResolvedSpec:
    """Fills every gap of `spec` for data with `class_count` classes and images of `shape` (height, width, channels).

    The memory has to give every class one exemplar at least, down to the last phase. `own_options` and
    `own_rule`: the method's numbers and rule as they are unless given; `value`: the digest of one that is not ours.
    """
    facts = DATASETS.get(spec.dataset)
    training = resolve_training(Asked.by(spec), facts, shape, spec.method, recipe_name, own_options)
    protocol = protocol_for(facts, class_count)
    order = resolve_order(protocol.order if spec.order is None else spec.order, class_count)
    if spec.classes is not None:
        if spec.classes > class_count:
            raise ClassgrowError(
                f"{spec.classes} classes were asked for and {spec.dataset} has {class_count}: "
                f"lower `classes` to {class_count} or less."
            )
        order = order[: spec.classes]
    return ResolvedSpec(
        dataset=spec.dataset,
        kind=training.preset,
        method=spec.method,
        recipe_name=recipe_name,
        profile=spec.profile,
        memory=_memory(spec, protocol, len(order)) if keeps_memory else None,
        memory_per_class=spec.memory_per_class if keeps_memory else None,
        sizes=_sizes(spec, protocol, len(order)),
        order=order,
        seed=spec.seed,
        selection=spec.selection,
        recipe=training.recipe,
        inputs=training.inputs,
        options=training.options,
        total_classes=len(order),
        numerics=numerics_of(spec.method),
        data=data,
        network=training.own_network,
        rule=spec.rule if spec.rule and spec.rule != own_rule else "",
        value=value,
    )


def _memory(spec: Spec, protocol: PaperProtocol, classes: int) -> int | None:
    if spec.memory_per_class is not None:
        return None
    memory = protocol.memory if spec.memory is None else spec.memory
    if memory < classes:
        raise ClassgrowError(
            f"{memory} exemplars cannot cover {classes} classes: raise `memory` to at least {classes}."
        )
    return memory


def _sizes(spec: Spec, protocol: PaperProtocol, classes: int) -> tuple[int, ...]:
    """Classes per phase: `first`, then `step` each; the last phase takes what is left."""
    first = min(protocol.first, classes) if spec.first is None else spec.first
    step = protocol.step if spec.step is None else spec.step
    if first > classes:
        raise ClassgrowError(f"The first phase cannot have {first} of {classes} classes: lower `first`.")
    whole, rest = divmod(classes - first, step)
    return (first,) + (step,) * whole + ((rest,) if rest else ())


def phases_to_run(spec: Spec, resolved: ResolvedSpec) -> int:
    """How many phases this run goes through: all of them unless `spec.phases` stops it earlier."""
    planned = len(resolved.sizes)
    if spec.phases is not None and spec.phases > planned:
        raise ClassgrowError(
            f"There are only {planned} phases: lower `phases` from {spec.phases} to {planned} or less."
        )
    return spec.phases or planned


def identity(resolved: ResolvedSpec) -> str:
    """12 hex digits made from all that decides the numbers: runs that share them give the same numbers.

    How many phases are run is not part of it, so a run can be continued; nor are the files of a data set whose name
    says which images it has, so a grid knows its runs before it reads any.
    """
    values = resolved.to_json()
    facts = DATASETS.find(resolved.dataset) if resolved.data else None
    if facts is not None and facts.published:
        values.pop("data", None)
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def command(spec: Spec) -> str:
    """The shell command that repeats the run."""
    always = {"dataset", "method", "seed"}
    defaults = {name: field.get_default(call_default_factory=True) for name, field in Spec.model_fields.items()}
    given = {name: value for name, value in spec if name in always or value != defaults[name]}
    options = given.pop("options", {})
    flags = [f"--{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in given.items()]
    flags += [f"--option {shlex.quote(f'{name}={value}')}" for name, value in options.items()]
    return " ".join(["classgrow run", *flags])
