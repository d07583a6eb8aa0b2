"""`classgrow run`: a record that holds what was asked, and no second run of the same."""

from __future__ import annotations

from pathlib import Path

from classgrow.recipes import Schedule
from classgrow.records.record import RECORD_FILE, read_record
from classgrow.records.summary import summary
from tests.cli.conftest import SMALL


def test_the_record_holds_what_was_asked(finished: tuple[Path, str]) -> None:
    record = read_record(finished[0] / RECORD_FILE)
    assert record.status == "finished"
    assert record.identity == finished[0].name
    assert record.spec is not None and record.spec.dataset == "digits" and record.spec.epochs == 4
    assert record.phase_sizes == [2, 2, 2] and record.phases_planned == 2
    assert record.class_names == ["0", "1", "2", "3", "4", "5"]
    assert record.resolved.recipe.first == Schedule(epochs=4, lr=0.5, drops=(3, 3), factor=0.2)
    assert record.execution.threads == 1 and record.execution.device == "cpu"
    assert "exp(−d*/2)" in record.method.formula
    # 271 training images of 0 and 1; 271 of 2 and 3 with 25 exemplars of each old class; 12 of each of four after it.
    assert [phase.training_images for phase in record.phases] == [271, 321]
    assert [phase.exemplars for phase in record.phases] == [50, 48]
    assert [phase.classes_seen for phase in record.phases] == [2, 4]
    first = record.phases[0].rules["nearest"]
    assert first is not None and first.accuracy is not None and first.accuracy > 0.9
    assert record.confusion is not None and sum(map(sum, record.confusion)) == sum(record.phases[1].test_counts)


def test_what_is_printed_is_what_was_recorded(finished: tuple[Path, str]) -> None:
    folder, printed = finished
    record = read_record(folder / RECORD_FILE)
    numbers = summary(record)
    lines = [line.split() for line in printed.splitlines()]
    rows = {words[0]: words for words in lines if words}
    assert numbers.average is not None and numbers.forgetting is not None and numbers.mad is not None
    assert rows["average"][1] == f"{100 * numbers.average:.1f}"
    assert rows["forgetting"][1] == f"{100 * numbers.forgetting:.1f}"
    assert rows["MAD"][1] == f"{100 * numbers.mad:.1f}"
    assert sum(line.startswith(("phase 1/2: 2 classes", "phase 2/2: 4 classes")) for line in printed.splitlines()) == 2
    assert f"Recorded in {folder}" in printed
    assert "do not compare" in " ".join(printed.split())


def test_a_rate_and_a_number_of_the_methods_own(classgrow, finished: tuple[Path, str], tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Another run than the one without them, which says how to repeat it."""
    flags = ("--lr", "0.25", "--option", "strength=0.5")
    words = ("--dataset", "digits", "--classes", "4", "--epochs", "2", "--threads", "1", "--output", tmp_path)
    done = classgrow("run", *words, *flags)
    assert done.returncode == 0, done.stderr
    (folder,) = tmp_path.iterdir()
    record = read_record(folder / RECORD_FILE)
    assert record.spec is not None and (record.spec.lr, record.spec.options) == (0.25, {"strength": 0.5})
    assert record.resolved.recipe.later.lr == 0.25
    assert "0.5·√(old/seen)" in record.method.formula
    shown = classgrow("show", folder)
    assert "--lr 0.25 --option strength=0.5" in shown.stdout
    assert "learning rate 0.25, strength 0.5," in shown.stdout
    assert "fgp, lr 0.25, strength 0.5" in classgrow("show", tmp_path).stdout


def test_a_finished_run_says_so_and_does_nothing(classgrow, finished: tuple[Path, str], tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """The same settings by another way, a file with flags that override it, are the same run."""
    folder = finished[0]
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    spec = tmp_path / "spec.toml"
    spec.write_text('dataset = "digits"\nclasses = 6\nphases = 3\nepochs = 9\nmethod = "fgp"\n')
    done = classgrow("run", spec, "--phases", "2", "--epochs", "4", "--output", folder.parent)
    assert done.returncode == 0, done.stderr
    assert "already finished (2 phases)" in done.stdout and str(folder) in done.stdout
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_a_first_phase_trained_before_is_taken_over(classgrow, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Only where it is asked for; `show` says whose it is."""
    short = (*SMALL, "--epochs", "1", "--output", tmp_path, "--share-first-phase")
    first = classgrow("run", *short)
    second = classgrow("run", *short, "--method", "fgp-uniform")
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    one, other = (read_record(tmp_path / folder_of(done.stdout) / RECORD_FILE) for done in (first, second))
    assert one.first_phase is None and other.first_phase is not None and other.first_phase.run == one.identity
    assert f"The first phase is taken over from the run {one.identity}" in second.stdout
    assert f"trained by the run {one.identity} (finished" in classgrow("show", tmp_path / other.identity).stdout


def folder_of(printed: str) -> str:
    """The last line names the run's folder."""
    return Path(printed.strip().splitlines()[-1].removeprefix("Recorded in ")).name
