"""What a run leaves behind: one JSON file with everything a table, a figure or a doubter needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from classgrow.disk import write_atomically
from classgrow.errors import ClassgrowError
from classgrow.records.consistency import contradiction
from classgrow.records.fields import Finite, Number, OwnRecipe, Resolved, Whole
from classgrow.records.reading import in_current_format, read_json, unreadable
from classgrow.records.seal import SEAL, is_broken, seal_of
from classgrow.records.words import Text, Word, printable
from classgrow.specs.spec import Spec
from classgrow.specs.typed import LARGEST

FORMAT: Final = 2
READABLE: Final = (1, 2)
RECORD_FILE = "record.json"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class RuleResult(_Part):
    """How well one way of predicting did after a phase. Fractions from 0 to 1; None: a class without test images."""

    accuracy: Number
    per_class: list[Number]


class Seconds(_Part):
    """Wall time of a phase."""

    train: Finite
    remember: Finite
    evaluate: Finite
    total: Finite


class PhaseRecord(_Part):
    """What one phase gave. `phase` counts from 1; `rules` has the results by the name of the rule (None: it did not
    apply); `processes` trained it; `notes` are what its steps found worth telling (BiC's alpha and beta)."""

    phase: Whole
    classes_seen: Whole
    rules: dict[Word, RuleResult | None]
    test_counts: list[Whole]
    processes: Whole = 1
    exemplars: Whole
    held_out: Whole = 0
    training_images: Whole
    loss: Number = None
    notes: list[Text] = []
    seconds: Seconds
    images_per_second: Number = None

    def per_class(self, rule: str) -> list[float | None] | None:
        """Accuracies by `rule`, or None if the rule has none."""
        result = self.rules.get(rule)
        return None if result is None else result.per_class


class RuleRecord(_Part):
    """A way of predicting in its own words. One that is not `everyday` answers a special question: it stands in the
    record, in exports and in the details of a run's page, and in no other table."""

    name: Word
    title: Text
    formula: Text
    everyday: bool = True


class MethodRecord(_Part):
    """The method in its own words, with every rule whose results are recorded."""

    name: Text
    formula: Text
    steps: list[Text]
    rules: list[RuleRecord]


class Own(_Part):
    """The method's own numbers on such images: what a run has unless it is given others. `recipe` is None and `preset`
    is "" where that is not known."""

    recipe: OwnRecipe | None = None
    options: dict[Word, Annotated[float | int, Field(allow_inf_nan=False)]] = {}
    preset: Word | Literal[""] = ""


class Code(_Part):
    """Which code ran: the package version and, in a checkout, its commit."""

    version: Text
    commit: Text | None = None


class Execution(_Part):
    """How the run was executed."""

    device: Text
    threads: Whole
    processes: Whole = 1
    compiled: bool = False
    precision: Literal["float32", "bfloat16"] = "float32"


class FirstPhase(_Part):
    """Where a run took its trained first phase from: the `run` that trained it, the `code` it ran and when it was done.

    `identity` names all that decides the numbers of that training; both runs have it in common. The phase's seconds of
    training are those of that run.
    """

    identity: Word
    run: Word
    code: Code
    finished: Text


class Versions(_Part):
    """Versions of what the numbers depend on."""

    python: Text
    torch: Text | None
    numpy: Text
    classgrow: Text


class Hardware(_Part):
    """The machine, without its name."""

    cpu: Text
    cores: Whole
    memory_gb: Finite | None
    machine: Text


class Retry(_Part):
    """A training that went wrong in `phase`, where its rate was `rate`; from the checkpoint before on, every rate is
    half of what it was."""

    phase: Whole
    epoch: Whole
    update: Whole
    rate: Finite


class Record(_Part):
    """A run. `class_ids` and `class_names` are in learning order; `phases` grows as the run goes on.

    `spec` is what was asked for; where this version does not know one of its settings it is None, and `unread_spec`
    keeps it as JSON text. `resolved` is what that came to, and `own` what the method has unless asked otherwise.
    `first_phase` says where the training of phase 1 comes from, if not from this run.
    `headline` names the rule that answers. `confusion` (row = true class, column = prediction) is by that rule after
    the last recorded phase. `phase_sizes` plans the whole scenario, `phases_planned` how far this run goes.
    """

    format: Literal[2] = FORMAT
    identity: Word
    spec: Spec | None
    unread_spec: str | None = None
    resolved: Resolved
    own: Own
    method: MethodRecord
    code: Code
    numerics: Whole
    seed: Annotated[int, Field(ge=0, lt=LARGEST)]
    class_ids: list[Whole]
    class_names: list[Text]
    phase_sizes: list[Whole]
    headline: Word
    phases: list[PhaseRecord] = []
    confusion: list[list[Whole]] | None = None
    status: Literal["running", "finished", "failed"] = "running"
    error: Text | None = None
    retries: list[Retry] = []
    phases_planned: Whole
    execution: Execution
    first_phase: FirstPhase | None = None
    versions: Versions
    hardware: Hardware
    started: Text
    finished: Text | None = None

    def rule(self, name: str) -> RuleRecord:
        """The recorded rule of that name."""
        found = {rule.name: rule for rule in self.method.rules}
        if name not in found:
            raise ClassgrowError(f"This run has no rule {printable(name)!r}: choose one of {', '.join(found)}.")
        return found[name]

    @property
    def everyday_rules(self) -> list[RuleRecord]:
        """The rule that answers and the other everyday ones, as far as they gave results: what tables list."""
        given = {name for phase in self.phases for name, result in phase.rules.items() if result is not None}
        return [
            rule
            for rule in self.method.rules
            if rule.name == self.headline or (rule.everyday and (rule.name in given or not self.phases))
        ]

    def with_phase(self, phase: PhaseRecord, confusion: list[list[int]] | None) -> Record:
        """The record with one phase more."""
        if phase.phase != len(self.phases) + 1:
            raise ValueError(f"phase {phase.phase} cannot follow phase {len(self.phases)}")
        return self.model_copy(update={"phases": [*self.phases, phase], "confusion": confusion})


def read_record(path: Path) -> Record:
    """The record in a JSON file, of this format or an older one; one that cannot be read is refused with its name."""
    content = read_json(path, RECORD_FILE)
    if is_broken(content):
        raise unreadable(path, "its content is not what was written: the digest differs")
    if isinstance(content, dict):
        content = {name: value for name, value in content.items() if name != SEAL}
    version = content.get("format") or 1 if isinstance(content, dict) else FORMAT
    if version not in READABLE:
        shown = printable(str(version))[:20] if isinstance(version, int | str) else "that is not a number"
        raise ClassgrowError(
            f"The record {printable(str(path))} has format {shown} and this version reads 1 and 2: use "
            "the version of classgrow that wrote it, or run the experiment again in another folder."
        )
    try:
        record = Record.model_validate(in_current_format(content, version))
        wrong = contradiction(record)
    except ValidationError as error:
        wrong = _first_misfit(error)
    except (ClassgrowError, RecursionError) as error:
        wrong = str(error)
    if wrong:
        raise unreadable(path, wrong)
    return record


def _first_misfit(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])[:100] or "the whole file"
    return f"at {place}: {first['msg'].removeprefix('Value error, ')[:200]}"


def write_record(record: Record, path: Path) -> None:
    """Replaces the file in one step: readers see the old record or the new one, never a part. It is sealed."""
    content = to_json(record)
    try:
        write_atomically(path, _as_text(content | {SEAL: seal_of(content)}).encode())
    except OSError as error:
        raise ClassgrowError(
            f"Could not write {path} ({error.strerror}): free some space and go on (`resume`)."
        ) from error


def to_json(record: Record) -> dict[str, Any]:
    """The record as JSON values."""
    return record.model_dump(mode="json")


def without_times(record: Record) -> dict[str, Any]:
    """All but what a clock decides: equal for a run and the same run stopped and resumed."""
    content = to_json(record)
    for name in ("started", "finished"):
        del content[name]
    for phase in content["phases"]:
        for name in ("seconds", "images_per_second"):
            del phase[name]
    return content


def _as_text(content: dict[str, Any]) -> str:
    """JSON with a line for each entry and each phase: a person can find things and `diff` can compare."""
    phases = ",\n  ".join(json.dumps(phase, allow_nan=False) for phase in content["phases"])
    values = {name: json.dumps(value, allow_nan=False) for name, value in content.items()}
    values["phases"] = f"[\n  {phases}\n ]" if phases else "[]"
    return "{\n " + ",\n ".join(f'"{name}": {value}' for name, value in values.items()) + "\n}\n"
