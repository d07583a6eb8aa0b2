"""A first phase that several runs have in common is trained once, and no number shows it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from classgrow import checkpoint
from classgrow.data.digits import load_digits
from classgrow.data.labelled import Dataset, LabelledImages
from classgrow.engine.runtime import Execution
from classgrow.errors import ClassgrowError
from classgrow.experiments import first_phase, plan
from classgrow.experiments import run as running
from classgrow.experiments.first_phase import FOLDER, LOCK_FILE, STATE_FILE, first_phase_of
from classgrow.experiments.run import CHECKPOINT_FILE, Outcome, prepare, run_spec
from classgrow.experiments.start import new_record
from classgrow.experiments.worker import Job, work
from classgrow.methods import build_method
from classgrow.methods.mnemonics import mnemonics
from classgrow.progress import Progress, Silent
from classgrow.records.record import RECORD_FILE, read_record, without_times
from classgrow.specs.spec import Spec
from classgrow.state import State
from classgrow.steps import Declares, OptimiseExemplars, Phase, Step, Train, declared, in_first_phase

ONE_THREAD = Execution(threads=1)
SPEC = Spec(dataset="digits", method="fgp", memory=12, classes=4, first=2, step=2, epochs=2)


def few(data: LabelledImages) -> LabelledImages:
    return data.select(torch.cat([(data.labels == label).nonzero()[:20, 0] for label in range(10)]))


def small_dataset() -> Dataset:
    """20 training and 20 test images a class."""
    digits = load_digits()
    return Dataset("digits", few(digits.train), few(digits.test))


@pytest.fixture(autouse=True)
def small_digits(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    small = small_dataset()
    monkeypatch.setattr(running, "load", lambda *_: small)
    return small


def spec(method: str = "fgp", **changes: Any) -> Spec:
    return SPEC.model_copy(update={"method": method, **changes})


class Heard(Silent):
    """Notes what is said and how many batches are trained on; `on` a word it does something."""

    def __init__(self, on: str = "\n", do: Callable[[], object] = lambda: None) -> None:
        self.said: list[str] = []
        self.batches = 0
        self.on, self.do = on, do

    def say(self, text: str) -> None:
        self.said.append(text)
        if self.on in text:
            self.do()

    def advance(self, images: int) -> None:
        self.batches += 1


def go(output: Path, one: Spec = SPEC, progress: Progress | None = None, **settings: Any) -> Outcome:
    settings = {"share_first_phase": True, "execution": ONE_THREAD, **settings}
    return run_spec(one, output, progress=progress, **settings)


def left(outcome: Outcome) -> tuple[dict[str, Any], dict[str, Any], dict[str, torch.Tensor]]:
    """The record and the last checkpoint, without times and without where phase 1 comes from."""
    record = without_times(outcome.record)
    del record["first_phase"]
    tensors, plain = checkpoint.read(outcome.folder / CHECKPOINT_FILE)
    plain["log"] = {name: value for name, value in plain["log"].items() if not name.endswith("seconds")}
    return record, plain, tensors


def assert_same(one: Outcome, other: Outcome) -> None:
    (record, plain, tensors), (its_record, its_plain, its_tensors) = left(one), left(other)
    assert record == its_record and plain == its_plain
    assert tensors.keys() == its_tensors.keys()
    assert [name for name, value in tensors.items() if not torch.equal(value, its_tensors[name])] == []


PAIRS = {
    "another memory": (spec(), spec(memory=40)),
    "FGP's distillation by BCE": (spec(), spec("fgp-dist-bce")),
    "the graph without weights": (spec(), spec("fgp-uniform", memory_per_class=3, memory=None)),
    "another selection": (spec(), spec(selection="random", step=1)),
    "Mnemonics after Hou19": (spec("lucir"), spec("mnemonics")),
    "EEIL, which trains twice": (spec("eeil"), spec("eeil", memory=16)),
    "BiC, where the memory is the same": (spec("bic"), spec("bic", step=1)),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_numbers_are_those_of_a_run_from_the_start(pair: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    optimise = OptimiseExemplars(outer_epochs=2, inner_steps=1, batch_size=8)
    for place in (plan, running):  # the default of 50 steps takes seconds and shows nothing more
        monkeypatch.setattr(
            place,
            "build_method",
            lambda name, **given: mnemonics(optimise=optimise) if name == "mnemonics" else build_method(name, **given),
        )
    earlier, later = PAIRS[pair]
    source, heard, alone = go(tmp_path / "shared", earlier), Heard(), Heard()
    taken = go(tmp_path / "shared", later, heard)
    whole = go(tmp_path / "alone", later, alone, share_first_phase=False)
    assert_same(taken, whole)
    assert 0 < heard.batches < alone.batches
    assert (whole.record.first_phase, source.record.first_phase) == (None, None)
    origin = taken.record.first_phase
    assert origin is not None and (origin.run, origin.code) == (source.record.identity, source.record.code)
    assert [folder.name for folder in (tmp_path / "shared" / FOLDER).iterdir()] == [origin.identity]
    assert not (tmp_path / "alone" / FOLDER).exists()
    assert read_record(taken.folder / RECORD_FILE) == taken.record
    seconds = taken.record.phases[0].seconds
    assert seconds.train == source.record.phases[0].seconds.train and seconds.total > seconds.train


@pytest.mark.usefixtures("bfloat16")
def test_in_bfloat16_it_is_another_first_phase(tmp_path: Path) -> None:
    exact = go(tmp_path)
    rough = go(tmp_path, spec("fgp-dist-bce"), precision="bfloat16")
    taken = go(tmp_path, spec("fgp-uniform"), precision="bfloat16")
    assert exact.record.first_phase is None and rough.record.first_phase is None
    assert taken.record.first_phase is not None and taken.record.first_phase.run == rough.record.identity
    alone = {"precision": "bfloat16", "share_first_phase": False}
    assert_same(taken, go(tmp_path / "alone", spec("fgp-uniform"), **alone))


def identity_of(one: Spec, output: Path, execution: Execution = ONE_THREAD) -> str:
    run = prepare(one, output)
    with first_phase_of(run, new_record(run, execution), Silent()) as first:
        assert first is not None
        return first.identity


def test_who_begins_alike(tmp_path: Path) -> None:
    """The same network on the same images with the same loss, head, seed and schedule; nothing else counts."""
    same = [
        spec("fgp-dist-bce"),
        spec("fgp-dist-lucir"),
        spec("fgp-dist-bce-weighted"),
        spec(step=1),
        spec(rule="head"),
    ]
    others = [
        *(spec("fgp-ce"), spec("fgp-cosine"), spec("joint"), spec("icarl"), spec(seed=2), spec(epochs=3)),
        *(spec(lr=0.3), spec(first=1), spec(order="seed:3"), spec(classes=6), spec(network="resnet32")),
        *(
            spec(profile="fast"),
            spec("bic"),
            spec("bic", memory=16),
            spec("lwf"),
            spec("lucir"),
            spec("eeil"),
            spec("wa"),
        ),
    ]
    mine = identity_of(SPEC, tmp_path)
    assert {identity_of(one, tmp_path) for one in same} == {mine}
    found = [identity_of(one, tmp_path) for one in others]
    assert len({mine, *found}) == 1 + len(others)
    assert identity_of(spec("replay"), tmp_path) == identity_of(spec("lwf"), tmp_path)


def test_bits_are_promised_for_the_same_machine_code_and_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_digits: Dataset
) -> None:
    found = {identity_of(SPEC, tmp_path)}
    for execution in (Execution(threads=2), Execution(threads=1, compiled=True), Execution(precision="bfloat16")):
        found.add(identity_of(SPEC, tmp_path, execution))
    for name in ("processor", "code_digest"):
        with monkeypatch.context() as patch:
            patch.setattr(first_phase, name, lambda: "another")
            found.add(identity_of(SPEC, tmp_path))
    turned = replace(small_digits, train=small_digits.train.select(torch.arange(len(small_digits.train)).flip(0)))
    monkeypatch.setattr(running, "load", lambda *_: turned)
    found.add(identity_of(SPEC, tmp_path))
    assert len(found) == 7


@dataclass(frozen=True)
class Wrapped:
    """Passes on all that another step declares, and does something else."""

    inner: Step

    @property
    def declares(self) -> Declares:
        return declared(self.inner)

    def run(self, state: State, phase: Phase) -> None:
        self.inner.run(state, phase)


def test_a_step_that_wraps_another_is_not_taken_for_it() -> None:
    train = build_method("fgp").steps[1]
    reduced, known = in_first_phase(train)
    assert known and isinstance(reduced, Train) and str(reduced.objective) == "BCE(σ(a), y)"
    assert in_first_phase(Wrapped(train)) == (Wrapped(train), False)
    hold_out = build_method("bic").steps[0]
    assert in_first_phase(hold_out) == (hold_out, False)  # it reads the size of the memory


def test_a_damaged_or_foreign_state_is_not_taken(tmp_path: Path) -> None:
    go(tmp_path)
    (mine,) = (tmp_path / FOLDER).iterdir()
    content = (mine / STATE_FILE).read_bytes()
    alone = go(tmp_path / "alone", spec("fgp-ce"), share_first_phase=False)
    other = tmp_path / FOLDER / identity_of(spec("fgp-ce"), tmp_path)
    shutil.copytree(mine, other)
    heard = Heard()
    foreign = go(tmp_path, spec("fgp-ce"), heard)
    assert_same(foreign, alone)
    assert foreign.record.first_phase is None and "of another first phase" in heard.said[0]
    for memory, damage in enumerate((content[:-1], b"", content[:2000] + bytes([content[2000] ^ 1]) + content[2001:])):
        (mine / STATE_FILE).write_bytes(damage)
        heard = Heard()
        trained = go(tmp_path, spec(memory=40 + memory), heard).record
        assert trained.first_phase is None and "is damaged" in heard.said[0]
        assert checkpoint.read(mine / STATE_FILE)[1]["origin"]["run"] == trained.identity


def test_again_trains_it_anew(tmp_path: Path) -> None:
    go(tmp_path)
    taken = go(tmp_path, spec(memory=40))
    afresh = go(tmp_path, spec(memory=40), again=True)
    assert taken.record.first_phase is not None and afresh.record.first_phase is None
    assert_same(taken, afresh)


CHILD = """
import runpy, sys
from pathlib import Path
from classgrow.engine.runtime import Execution
from classgrow.experiments import run
from classgrow.progress import Silent
from classgrow.specs.spec import Spec

class Waiting(Silent):
    def begin(self, text, total, done=0):
        if text == "phase 1":
            print(text, flush=True)
            sys.stdin.readline()

small = runpy.run_path(sys.argv[3])["small_dataset"]()
run.load = lambda *_: small
spec = Spec.model_validate_json(sys.argv[1])
run.run_spec(
    spec, Path(sys.argv[2]), execution=Execution(threads=1), progress=Waiting(), share_first_phase=True
)
"""


@pytest.mark.parametrize("killed", [False, True], ids=["it ends", "it is killed"])
def test_two_at_once_train_it_once(tmp_path: Path, killed: bool) -> None:
    """The second waits for the first; where that one dies, it trains by itself and keeps it for a third."""
    command = [sys.executable, "-c", CHILD, SPEC.model_dump_json(), str(tmp_path), __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None and child.stdout is not None and child.stdout.readline() == "phase 1\n"
        pipe = child.stdin

        def go_on() -> None:
            if killed:
                os.kill(child.pid, signal.SIGKILL)
            else:
                pipe.write("\n")
                pipe.flush()

        heard = Heard(on="waits", do=go_on)
        second = go(tmp_path, spec("fgp-uniform"), heard)
        assert heard.said[0] == "Another run is training the same first phase: this one waits for it."
        child.wait()
    third = go(tmp_path, spec("fgp-dist-bce"))
    assert third.record.first_phase is not None
    if killed:
        assert second.record.first_phase is None and third.record.first_phase.run == second.record.identity
        assert go(tmp_path, resume=True).record.first_phase == third.record.first_phase  # it had learned nothing yet
    else:
        assert second.record.first_phase == third.record.first_phase
    assert_same(second, go(tmp_path / "alone", spec("fgp-uniform"), share_first_phase=False))


class UnpluggedError(Exception):
    """The plug was pulled."""


class Pulled(Silent):
    """Pulls the plug once so many batches went by."""

    def __init__(self, batches: int) -> None:
        self.left = batches

    def advance(self, images: int) -> None:
        self.left -= 1
        if self.left == 0:
            raise UnpluggedError


def test_a_run_that_was_stopped_within_it_keeps_it_when_it_resumes(tmp_path: Path) -> None:
    """40 images are 2 batches, and a checkpoint comes after 5 epochs."""
    longer = SPEC.model_copy(update={"epochs": 7})
    with pytest.raises(UnpluggedError):
        go(tmp_path / "shared", longer, Pulled(12))
    assert not list(tmp_path.glob(f"shared/{FOLDER}/*/{STATE_FILE}"))
    record = go(tmp_path / "shared", longer, resume=True).record
    taken = go(tmp_path / "shared", longer.model_copy(update={"memory": 40})).record
    assert record.first_phase is None and taken.first_phase is not None and taken.first_phase.run == record.identity
    with pytest.raises(UnpluggedError):
        go(tmp_path / "alone", longer, Pulled(12), share_first_phase=False)
    go(tmp_path / "alone", longer, resume=True)  # nobody knows how its first epochs were executed
    assert not list((tmp_path / "alone").glob(f"{FOLDER}/*/{STATE_FILE}"))


@pytest.mark.parametrize("batches", [1, 3, 4], ids=["at once", "phase 2 begun", "in phase 2"])
def test_a_run_that_took_it_over_can_be_stopped_too(tmp_path: Path, batches: int) -> None:
    go(tmp_path)
    with pytest.raises(UnpluggedError):
        go(tmp_path, spec("fgp-uniform"), Pulled(batches))
    resumed = go(tmp_path, spec("fgp-uniform"), resume=True, share_first_phase=False)
    assert resumed.record.first_phase is not None
    assert_same(resumed, go(tmp_path / "alone", spec("fgp-uniform"), share_first_phase=False))


def test_where_nothing_can_be_kept_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / FOLDER).write_text("a file")
    assert go(tmp_path).record.status == "finished"
    write = checkpoint.write

    def full(path: Path, *rest: Any) -> None:
        if path.name == STATE_FILE:
            raise ClassgrowError("Could not write it (No space left on device)")
        write(path, *rest)

    monkeypatch.setattr(checkpoint, "write", full)
    heard = Heard()
    assert go(tmp_path / "full", progress=heard).record.status == "finished"
    assert heard.said == ["The first phase is not kept for other runs: Could not write it (No space left on device)"]
    assert [path.name for path in (tmp_path / "full").glob(f"{FOLDER}/*/*")] == [LOCK_FILE]


def test_the_runs_of_a_grid_share_it_by_themselves(tmp_path: Path) -> None:
    for one in (SPEC, spec("fgp-uniform")):
        run = prepare(one, tmp_path)
        assert work(Job(one, run.folder.name, tmp_path, threads=1), lambda event: None).kind == "finished"
    records = [read_record(prepare(one, tmp_path).folder / RECORD_FILE) for one in (SPEC, spec("fgp-uniform"))]
    assert records[0].first_phase is None and records[1].first_phase is not None
    assert records[1].first_phase.run == records[0].identity
