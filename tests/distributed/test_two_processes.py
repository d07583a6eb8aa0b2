"""Two processes learn what one learns: the same gradients, the same exemplars on both, every image counted once."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from classgrow.memory import Budget
from classgrow.methods import build_method
from classgrow.methods.catalogue import METHODS

Together = Callable[..., list[subprocess.Popen[str]]]


@pytest.fixture(scope="module")
def results(together: Together, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one pair of processes found out, and one process alone."""
    import runpy

    folder = tmp_path_factory.mktemp("together")
    pair = together("gradients,methods,exchange", folder)
    program = runpy.run_path(str(Path(__file__).with_name("program.py")))
    program["gradients"](folder)
    for process in pair:
        said, _ = process.communicate(timeout=1800)
        assert process.returncode == 0, said
    return folder


@pytest.mark.parametrize("name", ["fgp", "icarl", "lucir", "eeil", "bic", "fgp-dist-kl"])
def test_gradients_and_weights_equal_those_of_one_process(results: Path, name: str) -> None:
    alone = torch.load(results / "gradients0of1.pt")[name]
    for rank in range(2):
        shared = torch.load(results / f"gradients{rank}of2.pt")[name]
        assert shared.keys() - alone.keys() <= {"grad backbone.unused.weight", "grad backbone.unused.bias"}
        for part, value in alone.items():
            assert value.dtype == torch.float64
            assert torch.allclose(shared[part], value, rtol=0, atol=1e-8), (part, (shared[part] - value).abs().max())
    assert max(float(value.abs().max()) for part, value in alone.items() if part.startswith("grad")) > 1e-3


def test_batch_norm_sees_its_share_and_nothing_else_differs(results: Path) -> None:
    """One process that takes the shares apart itself learns the same; the running values are the first process's."""
    alone = torch.load(results / "gradients0of1.pt")["batch norm"]
    for rank in range(2):
        shared = torch.load(results / f"gradients{rank}of2.pt")["batch norm"]
        for part, value in alone.items():
            if rank == 0 or "running" not in part:
                assert torch.allclose(shared[part].double(), value.double(), rtol=0, atol=1e-8), part


@pytest.mark.parametrize("name", METHODS)
def test_both_processes_keep_the_same(results: Path, name: str) -> None:
    """Exemplars, network, teacher, class means, everything; and they answer alike, once for each of 31 images."""
    one, other = (json.loads((results / f"methods{rank}.json").read_text())[name] for rank in range(2))
    assert one == other
    method = build_method(name)
    quota = 4 * Budget(total=10).quota(4) if method.keeps_memory else 36 if method.unlimited_memory else 0
    assert one["kept"] == quota
    assert bool(one["means"]) == bool(quota)
    assert {len(answers) for answers in one["answers"].values()} == {31}


@pytest.fixture
def told(results: Path) -> list[dict[str, Any]]:
    return [json.loads((results / f"exchange{rank}.json").read_text()) for rank in range(2)]


def test_what_the_first_has_becomes_what_all_have(told: list[dict[str, Any]]) -> None:
    first, second = told
    assert first["tensors"] == second["tensors"]
    assert first["tensors"]["other"] == [[0.0] * 3] * 2 and first["tensors"]["longer"] == [0, 1, 2]
    assert "only here" not in second["tensors"]
    assert (first["plain"], second["plain"]) == ({"rank": 0}, {"rank": 0})
    assert (first["different"], second["different"]) == (False, True)


def test_outputs_are_gathered_in_order_without_padding(told: list[dict[str, Any]]) -> None:
    first, second = told
    assert first["features"] == second["features"]
    everything = torch.tensor(first["features"]["9"])
    for count in (1, 2, 5, 9):
        found = torch.tensor(first["features"][str(count)])
        assert found.shape == (count, 6) and torch.allclose(found, everything[:count])


def test_counts_and_decisions(told: list[dict[str, Any]]) -> None:
    for rank, one in enumerate(told):
        assert one["sums"] == [3.0, 6.0]
        assert (one["decided"], one["prepared"]) == ("by 0", rank)
    assert told[0]["refused"] == ["ClassgrowError", "There is no such thing: choose another."]
    assert told[1]["refused"] == ["ReportedElsewhereError", "There is no such thing: choose another."]


def test_processes_that_mean_different_runs_end(told: list[dict[str, Any]]) -> None:
    said = "Process 2 of 2 has other settings than the first: start all with the same."
    assert [one["disagreed"] for one in told] == [["ClassgrowError", said], ["ReportedElsewhereError", said]]


def test_a_silent_process_is_noticed(together: Together, tmp_path: Path) -> None:
    first, last = together("stuck", tmp_path, CLASSGROW_TIMEOUT="3")
    said, _ = first.communicate(timeout=1200)
    last.kill()
    last.communicate()
    assert said.startswith("met\n")
    assert first.returncode == 1 and "silent for 3 seconds" in said and "`resume`" in said


@pytest.mark.parametrize("name", ["first_stops", "last_stops"])
def test_preparing_may_take_long_but_not_stand_still(together: Together, tmp_path: Path, name: str) -> None:
    pair = together(name, tmp_path, CLASSGROW_TIMEOUT="2")
    stopped, waiting = pair if name == "first_stops" else reversed(pair)
    said, _ = waiting.communicate(timeout=1200)
    stopped.kill()
    last_words, _ = stopped.communicate()
    assert last_words == "stopping\n"  # the four seconds before were no reason to give up
    assert waiting.returncode == 1 and "silent for 2 seconds" in said and "`resume`" in said
