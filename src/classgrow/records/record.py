"""What a run leaves behind: one JSON file with everything a table, a figure or a doubter needs."""

from __future__ import annotations

import json
import math
import os
import tempfile
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from classgrow.errors import ClassgrowError
from classgrow.records.consistency import contradiction

FORMAT: Final = 1
RECORD_FILE = "record.json"
RuleName = Literal["nearest", "raw_nearest", "head"]


def _finite(value: object) -> object:
    """A number that is not finite is a missing number: JSON has no word for it."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


Number = Annotated[float | None, BeforeValidator(_finite)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RuleResult(_Part):
    """How well one way of predicting did after a phase. Fractions from 0 to 1; None: a class without test images."""

    accuracy: Number
    per_class: list[Number]


class Seconds(_Part):
    """Wall time of a phase."""

    train: float
    remember: float
    evaluate: float
    total: float


class PhaseRecord(_Part):
    """What one phase gave. `phase` counts from 1; a rule the method does not have is None; `processes` trained it;
    `notes` are what its steps found worth telling (BiC's alpha and beta)."""

    phase: int
    classes_seen: int
    rules: dict[RuleName, RuleResult | None]
    test_counts: list[int]
    processes: int = 1
    exemplars: int
    held_out: int = 0
    training_images: int
    loss: Number = None
    notes: list[str] = []
    seconds: Seconds
    images_per_second: Number = None

    def per_class(self, rule: RuleName) -> list[float | None] | None:
        """Accuracies by `rule`, or None if the rule has none."""
        result = self.rules.get(rule)
        return None if result is None else result.per_class


class MethodRecord(_Part):
    """The method in its own words."""

    name: str
    formula: str
    steps: list[str]
    rule: str


class Code(_Part):
    """Which code ran: the package version and, in a checkout, its commit."""

    version: str
    commit: str | None = None


class Execution(_Part):
    """How the run was executed."""

    device: str
    threads: int
    processes: int = 1
    compiled: bool = False
    mixed: bool = False


class Versions(_Part):
    """Versions of what the numbers depend on."""

    python: str
    torch: str | None
    numpy: str
    classgrow: str


class Hardware(_Part):
    """The machine, without its name."""

    cpu: str
    cores: int
    memory_gb: float | None
    machine: str


class Record(_Part):
    """A run. `class_ids` and `class_names` are in learning order; `phases` grows as the run goes on.

    `confusion` (row = true class, column = prediction) is by the headline rule after the last recorded phase.
    `phase_sizes` plans the whole scenario, `phases_planned` how far this run goes.
    """

    format: Literal[1] = FORMAT
    identity: str
    spec: dict[str, Any]
    resolved: dict[str, Any]
    method: MethodRecord
    code: Code
    numerics: int
    seed: int
    class_ids: list[int]
    class_names: list[str]
    phase_sizes: list[int]
    headline: Literal["nearest", "head"]
    phases: list[PhaseRecord] = []
    confusion: list[list[int]] | None = None
    status: Literal["running", "finished", "failed"] = "running"
    error: str | None = None
    phases_planned: int
    execution: Execution
    versions: Versions
    hardware: Hardware
    started: str
    finished: str | None = None

    def with_phase(self, phase: PhaseRecord, confusion: list[list[int]] | None) -> Record:
        """The record with one phase more."""
        if phase.phase != len(self.phases) + 1:
            raise ValueError(f"phase {phase.phase} cannot follow phase {len(self.phases)}")
        return self.model_copy(update={"phases": [*self.phases, phase], "confusion": confusion})


def read_record(path: Path) -> Record:
    """The record in a JSON file; a broken one is refused with its name."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ClassgrowError(f"There is no record {path}: check the path or run the experiment.") from None
    except (OSError, ValueError) as error:
        if path.name != RECORD_FILE:
            raise ClassgrowError(f"{path} is no record of a run: give a run's folder, or a folder of runs.") from None
        raise ClassgrowError(
            f"The record {path} is broken ({error}): delete it and run the experiment again."
        ) from None
    if isinstance(content, dict) and content.get("format") not in (None, FORMAT):
        raise ClassgrowError(
            f"The record {path} has format {content['format']} and this version reads {FORMAT}: use the version of "
            "classgrow that wrote it, or run the experiment again."
        )
    try:
        record = Record.model_validate(content)
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"]) or "the whole file"
        raise ClassgrowError(
            f"The record {path} does not fit at {place} ({error.errors()[0]['msg']}): delete it and run the "
            "experiment again."
        ) from None
    if wrong := contradiction(record):
        raise ClassgrowError(f"The record {path} contradicts itself ({wrong}): delete it and run the experiment again.")
    return record


def write_record(record: Record, path: Path) -> None:
    """Replaces the file in one step: whoever reads it sees the old record or the new one, never a half."""
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(_as_text(to_json(record)))
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
        temporary = ""
    except OSError as error:
        raise ClassgrowError(
            f"Could not write {path} ({error.strerror}): free some space and go on with --resume."
        ) from error
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)


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
