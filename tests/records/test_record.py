"""A record survives the disk unchanged, and its numbers come from its per-class accuracies."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from classgrow import __version__
from classgrow.errors import ClassgrowError
from classgrow.records import environment
from classgrow.records.folder import find_records, run_dir
from classgrow.records.record import (
    RECORD_FILE,
    Execution,
    MethodRecord,
    Own,
    PhaseRecord,
    Record,
    RuleRecord,
    RuleResult,
    Seconds,
    read_record,
    to_json,
    without_times,
    write_record,
)
from classgrow.records.summary import summary
from classgrow.specs.spec import Spec, resolve

NEAREST: list[list[float | None]] = [[0.9, 0.7], [0.8, 0.75, 0.6], [0.5, 0.8, 0.5, 1.0]]
HEAD: list[list[float | None]] = [[1.0, 1.0], [0.5, 0.5, 1.0], [0.0, 0.0, 0.0, 1.0]]
HEAD_ACCURACY = [1.0, 0.6, 1 / 6]
CONFUSION = [[5, 5, 0, 0], [6, 24, 0, 0], [0, 0, 5, 5], [0, 0, 0, 10]]
SPEC = Spec(dataset="digits", method="fgp", first=2, step=1, classes=4, memory=20)


RESOLVED = resolve(SPEC, 10, "fgp", (8, 8, 1))
RULES = [
    RuleRecord(name="nearest", title="nearest class mean", formula="argmin d"),
    RuleRecord(name="raw_nearest", title="raw mean", formula="argmin r", everyday=False),
    RuleRecord(name="head", title="head", formula="argmax a"),
]


def phase(number: int, seconds: float = 1.0, loss: float = 0.1) -> PhaseRecord:
    nearest, head = NEAREST[number - 1], HEAD[number - 1]
    return PhaseRecord(
        phase=number,
        classes_seen=len(nearest),
        rules={
            "nearest": RuleResult(accuracy=None, per_class=nearest),
            "raw_nearest": None,
            "head": RuleResult(accuracy=HEAD_ACCURACY[number - 1], per_class=head),
        },
        test_counts=[10, 30, 10, 10][: len(nearest)],
        exemplars=20,
        training_images=100,
        loss=loss,
        seconds=Seconds(train=seconds, remember=0.1, evaluate=0.1, total=seconds + 0.2),
        images_per_second=100 / seconds,
    )


def record(identity: str = "0123456789ab", phases: int = 3, **changes: Any) -> Record:
    values: dict[str, Any] = {
        "identity": identity,
        "spec": SPEC,
        "resolved": RESOLVED,
        "own": Own(recipe=RESOLVED.recipe),
        "method": MethodRecord(name="fgp", formula="BCE", steps=["grow", "train"], rules=RULES),
        "code": environment.code(),
        "numerics": 1,
        "seed": 1,
        "class_ids": [3, 1, 0, 2],
        "class_names": ["d", "b", "a", "c"],
        "phase_sizes": [2, 1, 1],
        "headline": "nearest",
        "phases": [phase(number) for number in range(1, phases + 1)],
        "phases_planned": 3,
        "execution": Execution(device="cpu", threads=1),
        "versions": environment.versions(),
        "hardware": environment.hardware(),
        "started": "2021-03-04T05:06:07+00:00",
    }
    return Record(**(values | changes))


def test_write_and_read_give_the_same_record(tmp_path: Path) -> None:
    path = tmp_path / "new" / RECORD_FILE
    write_record(record(confusion=CONFUSION), path)
    assert read_record(path) == record(confusion=CONFUSION)
    assert json.loads(path.read_text())["phases"][2]["rules"]["head"]["accuracy"] == 1 / 6
    assert [file.name for file in path.parent.iterdir()] == [RECORD_FILE]


@pytest.mark.parametrize(("mixed", "precision"), [(True, "bfloat16"), (False, "float32")])
def test_records_from_before_precision_had_a_name(tmp_path: Path, mixed: bool, precision: str) -> None:
    content = to_json(record())
    del content["execution"]["precision"]
    path = tmp_path / RECORD_FILE
    path.write_text(json.dumps(content | {"execution": content["execution"] | {"mixed": mixed}}))
    assert read_record(path) == record(execution=Execution(device="cpu", threads=1, precision=precision))
    path.write_text(json.dumps(content | {"execution": content["execution"] | {"mixed": "yes"}}))
    with pytest.raises(ClassgrowError, match=r"execution\.mixed"):
        read_record(path)


def test_a_phase_takes_one_line(tmp_path: Path) -> None:
    write_record(record(phases=2), tmp_path / RECORD_FILE)
    lines = (tmp_path / RECORD_FILE).read_text().splitlines()
    assert sum(line.startswith('  {"phase": ') for line in lines) == 2


def test_a_failed_write_leaves_the_old_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / RECORD_FILE
    write_record(record(phases=1), path)

    def broken(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", broken)
    with pytest.raises(ClassgrowError, match=r"No space left on device.*free some space"):
        write_record(record(phases=2), path)
    assert len(read_record(path).phases) == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"format": 1, "ident', "Unterminated string"),
        ('{"format": 1}', "resolved is None and not an object"),
        ('{"format": 2}', "at identity: Field required"),
        ('{"format": 3}', "has format 3 and this version reads 1 and 2"),
        ("[]", "at the whole file"),
        ("[" * 100_000, "lists within lists without end"),
        ('{"format": 2, "seed": ' + "9" * 5000 + "}", "Exceeds the limit"),
    ],
)
def test_an_unreadable_record_is_named_and_kept(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / RECORD_FILE
    path.write_text(content)
    with pytest.raises(ClassgrowError) as caught:
        read_record(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert "run the experiment again in another folder" in str(caught.value)
    assert "delete" not in str(caught.value)


def test_an_unknown_entry_is_refused() -> None:
    with pytest.raises(ValidationError):
        record(colour="blue")


def test_phases_come_in_order() -> None:
    grown = record(phases=1).with_phase(phase(2), [[9, 1], [2, 8]])
    assert [entry.phase for entry in grown.phases] == [1, 2]
    assert grown.confusion == [[9, 1], [2, 8]]
    with pytest.raises(ValueError, match="phase 2 cannot follow phase 2"):
        grown.with_phase(phase(2), None)


def test_a_loss_that_is_no_number_is_missing(tmp_path: Path) -> None:
    run = record(phases=0).with_phase(phase(1, loss=float("nan")), None)
    write_record(run, tmp_path / RECORD_FILE)
    assert read_record(tmp_path / RECORD_FILE).phases[0].loss is None


def test_without_times_forgets_the_clock_and_nothing_else() -> None:
    slow = record(phases=0, started="2022-01-01", finished="2022-01-02").with_phase(phase(1, seconds=9.0), None)
    quick = record(phases=0).with_phase(phase(1, seconds=2.0), None)
    other = record(phases=0).with_phase(phase(1, loss=0.2), None)
    assert without_times(slow) == without_times(quick)
    assert without_times(slow) != without_times(other)


def test_summary_by_the_headline_rule() -> None:
    """Test images 10, 30, 10, 10; phases of 2, 1, 1 classes.

    Curve: (9 + 21) / 40 = .75; (8 + 22.5 + 6) / 50 = .73; (5 + 24 + 5 + 10) / 60 = .7333. Phases at the end:
    (5 + 24) / 40 = .725, .5, 1; mean .741667, MAD (.016667 + .241667 + .258333) / 3 = .172222.
    Forgetting: .9 - .5 = .4, .75 - .8 = -.05, .6 - .5 = .1; mean .15.
    """
    numbers = summary(record())
    assert numbers.rule == "nearest"
    assert numbers.curve == pytest.approx((0.75, 0.73, 44 / 60))
    assert numbers.final == pytest.approx(44 / 60)
    assert numbers.average == pytest.approx((0.75 + 0.73 + 44 / 60) / 3)
    assert numbers.phase_accuracies == pytest.approx((0.725, 0.5, 1.0))
    assert numbers.mad == pytest.approx(0.1722222)
    assert numbers.forgetting == pytest.approx(0.15)


def test_summary_by_another_rule() -> None:
    assert summary(record(), "head").final == pytest.approx(10 / 60)
    assert summary(record(), "head").forgetting == pytest.approx(1.0)


def test_summary_of_a_missing_rule_is_missing() -> None:
    numbers = summary(record(), "raw_nearest")
    assert (numbers.final, numbers.average, numbers.forgetting, numbers.mad) == (None, None, None, None)
    assert (numbers.curve, numbers.phase_accuracies) == ((None, None, None), ())


def test_summary_of_runs_that_have_just_begun() -> None:
    nothing, one = summary(record(phases=0)), summary(record(phases=1))
    assert (nothing.final, nothing.average, nothing.curve) == (None, None, ())
    assert (one.final, one.mad, one.forgetting) == (pytest.approx(0.75), 0.0, None)


def test_summary_of_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ClassgrowError, match="nearest, raw_nearest, head"):
        summary(record(), "oracle")


def test_records_are_found_in_files_runs_and_grids(tmp_path: Path) -> None:
    for place, identity in (("", "b"), ("", "a"), ("grid", "c")):
        write_record(record(identity), run_dir(tmp_path / place, identity) / RECORD_FILE)
    assert [run.identity for run in find_records(tmp_path)] == ["a", "b", "c"]
    assert [run.identity for run in find_records(tmp_path / "a")] == ["a"]
    assert [run.identity for run in find_records(tmp_path / "a" / RECORD_FILE)] == ["a"]


def test_no_record_is_told(tmp_path: Path) -> None:
    with pytest.raises(ClassgrowError, match="holds no record"):
        find_records(tmp_path)
    with pytest.raises(ClassgrowError, match="no file or folder"):
        find_records(tmp_path / "gone")


def test_the_environment_is_read() -> None:
    assert environment.versions().classgrow == environment.code().version == __version__
    assert environment.versions().python == ".".join(map(str, sys.version_info[:3]))
    assert environment.hardware().cores >= 1
    assert environment.hardware().cpu


def test_records_specs_and_metrics_need_no_torch() -> None:
    program = (
        "import sys, classgrow.records.environment, classgrow.records.folder, classgrow.records.summary, "
        "classgrow.specs.spec, classgrow.metrics; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_file_that_is_something_else_is_not_to_be_deleted(tmp_path: Path) -> None:
    picture = tmp_path / "curves.png"
    picture.write_bytes(b"\x89PNG")
    with pytest.raises(ClassgrowError, match="is not a record of a run: give a run's folder") as caught:
        read_record(picture)
    assert "delete" not in str(caught.value)
