"""The authors' published result files as records, so that the report can be checked against the paper."""

from __future__ import annotations

import csv
import hashlib
from collections import defaultdict
from importlib.resources import files
from pathlib import Path
from typing import Final

from classgrow.records.folder import run_dir
from classgrow.records.record import (
    RECORD_FILE,
    Code,
    Execution,
    Hardware,
    MethodRecord,
    Own,
    PhaseRecord,
    Record,
    RuleRecord,
    RuleResult,
    Seconds,
    Versions,
    write_record,
)
from classgrow.specs.spec import ResolvedSpec, Spec, identity, resolve

OFFICIAL: Final = Code(version="authors' result files")
"""The code of an imported record: by it the report keeps these apart from runs of this package."""

_BLOCK = 10  # the files hold the mean accuracy of each ten consecutive classes
_DATASETS = {"cifar100": ((32, 32, 3), 100), "imagenet100": ((224, 224, 3), 50)}  # shape, test images a class
_RULES: dict[str, str] = {"nearest": "nearest", "classifier": "head"}
_Blocks = dict[str, float]
_Run = dict[str, dict[int, _Blocks]]


def official_records() -> list[Record]:
    """FGP on both data sets, two memories, two starts, five class orders: 40 records with both rules.

    The files give blocks of ten classes; each class gets its block's accuracy. So accuracies, averages and phase
    accuracies are those of the files, and forgetting is that of blocks (0.2 to 0.6 points below the class level).
    All numbers are rounded to three decimals; where the blocks' mean misses the file's overall accuracy for that, the
    blocks are shifted by the rest (0.05 points at most).
    """
    return [_record(*key, run) for key, run in _read().items()]


def write_official(output: Path | str) -> list[Path]:
    """Write the imported records as run folders below `output`; returns the files."""
    paths = []
    for record in official_records():
        path = run_dir(output, record.identity) / RECORD_FILE
        write_record(record, path)
        paths.append(path)
    return paths


def _read() -> dict[tuple[str, int, int, str], _Run]:
    """(data set, first, memory, order) -> rule -> phase -> block -> accuracy."""
    runs: dict[tuple[str, int, int, str], _Run] = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    text = files("classgrow.specs").joinpath("data/official_results.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        run = runs[row["dataset"], int(row["initial"]), int(row["memory"]), row["order"]]
        run[_RULES[row["classifier"]]][int(row["phase"])][row["class_group"]] = float(row["accuracy"])
    return runs


def _record(dataset: str, first: int, memory: int, order: str, run: _Run) -> Record:
    shape, images_per_class = _DATASETS[dataset]
    spec = Spec(dataset=dataset, method="fgp", memory=memory, first=first, step=_BLOCK, order=order)
    resolved = resolve(spec, 100, "fgp", shape)
    phases = [_phase(number, resolved, run, images_per_class) for number in range(1, len(resolved.sizes) + 1)]
    return Record(
        identity=hashlib.sha256(f"official {identity(resolved)}".encode()).hexdigest()[:12],
        spec=spec,
        resolved=resolved,
        own=Own(recipe=resolved.recipe, options=resolved.options),
        method=MethodRecord(
            name="fgp",
            formula="not in the files; see `classgrow methods fgp`",
            steps=[],
            rules=[
                RuleRecord(
                    name="nearest",
                    title="nearest class mean",
                    formula="nearest class mean (NME); the head's argmax is kept too",
                ),
                RuleRecord(name="head", title="head", formula="argmax_c a_c(x)"),
            ],
        ),
        code=OFFICIAL,
        numerics=resolved.numerics,
        seed=spec.seed,
        class_ids=list(resolved.order),
        class_names=[f"class {number}" for number in resolved.order],
        phase_sizes=list(resolved.sizes),
        headline="nearest",
        phases=phases,
        status="finished",
        phases_planned=len(resolved.sizes),
        execution=Execution(device="not stated", threads=0),
        versions=Versions(python="not stated", torch=None, numpy="not stated", classgrow="not used"),
        hardware=Hardware(cpu="not stated", cores=0, memory_gb=None, machine="not stated"),
        started="not stated",
    )


def _phase(number: int, resolved: ResolvedSpec, run: _Run, images_per_class: int) -> PhaseRecord:
    """The files know no times and no image counts; those fields are 0, which the report shows as missing."""
    seen = sum(resolved.sizes[:number])
    return PhaseRecord(
        phase=number,
        classes_seen=seen,
        rules={
            "nearest": _result(run["nearest"][number], seen),
            "head": _result(run["head"][number], seen),
        },
        test_counts=[images_per_class] * seen,
        exemplars=0,
        training_images=0,
        seconds=Seconds(train=0, remember=0, evaluate=0, total=0),
    )


def _result(blocks: _Blocks, seen: int) -> RuleResult:
    groups = [blocks[f"{start}-{start + _BLOCK - 1}"] for start in range(0, seen, _BLOCK)]
    rest = blocks["all"] - sum(groups) / len(groups)
    return RuleResult(accuracy=blocks["all"], per_class=[value + rest for value in groups for _ in range(_BLOCK)])
