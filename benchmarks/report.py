"""The report of 500 records of 20 phases: seconds and memory, in a process of its own."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.timing import time_and_peak

RECORDS, PHASES, STEP = 500, 20, 5


def measure() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        write_records(Path(scratch) / "runs")
        seconds, peak = time_and_peak(["-m", "classgrow", "report", f"{scratch}/runs", "--output", f"{scratch}/report"])
    return {"records": RECORDS, "phases": PHASES, "seconds": seconds, "peak_rss_gb": peak}


def write_records(folder: Path) -> None:
    """Made-up results: the same record under 500 identities, ten methods, five orders, ten seeds."""
    import numpy as np

    from classgrow.records.official import official_records
    from classgrow.records.record import RECORD_FILE, PhaseRecord, RuleResult, Seconds, write_record
    from classgrow.specs.orders import published_orders

    draw = np.random.default_rng(0)
    model = official_records()[0]
    methods = ["fgp", "icarl", "eeil", "bic", "lucir", "mnemonics", "fgp-ce", "fgp-cosine", "fgp-uniform", "joint"]
    for number in range(RECORDS):
        phases = []
        for phase in range(1, PHASES + 1):
            seen = phase * STEP
            hits = draw.integers(20, 91, seen)
            result = RuleResult(accuracy=float(hits.mean() / 100), per_class=(hits / 100).tolist())
            phases.append(
                PhaseRecord(
                    phase=phase,
                    classes_seen=seen,
                    rules={"nearest": result, "head": result},
                    test_counts=[100] * seen,
                    exemplars=2000,
                    training_images=4500,
                    seconds=Seconds(train=100.0, remember=2.0, evaluate=3.0, total=105.0),
                )
            )
        confusion = np.diag(hits) + np.roll(np.diag(100 - hits), 1, axis=1)
        method, order, seed = methods[number % 10], str(number // 10 % 5), number // 50
        assert model.spec is not None
        spec = model.spec.model_copy(
            update={"method": method, "order": order, "seed": seed, "step": STEP, "first": STEP}
        )
        resolved = replace(
            model.resolved, method=method, seed=seed, sizes=(STEP,) * PHASES, order=published_orders()[order]
        )
        record = model.model_copy(
            update={
                "identity": f"{number:012x}",
                "spec": spec,
                "resolved": resolved,
                "seed": seed,
                "phase_sizes": [STEP] * PHASES,
                "phases_planned": PHASES,
                "phases": phases,
                "confusion": confusion.tolist(),
                "method": model.method.model_copy(update={"name": method}),
            }
        )
        write_record(record, folder / record.identity / RECORD_FILE)
