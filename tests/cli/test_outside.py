"""A data set, a network and a rule of another package: found by their entry points, and run like our own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command

MODULE = '''
"""All that a package needs to bring a data set, a network and a rule."""

from dataclasses import dataclass

import torch
from torch import nn

from classgrow import Rule

from classgrow.data.facts import DatasetFacts, PaperProtocol
from classgrow.data.labelled import Dataset, LabelledImages
from classgrow.networks.facts import NetworkFacts


def load(data_dir, progress, strict):
    """Four classes of 6 x 6 grey pixels; class k is bright in quarter k."""
    draws = torch.Generator().manual_seed(1)
    labels = torch.arange(48) % 4
    images = torch.randint(0, 60, (48, 6, 6, 1), dtype=torch.uint8, generator=draws)
    for image, label in zip(images, labels.tolist()):
        row, column = divmod(label, 2)
        image[3 * row : 3 * row + 3, 3 * column : 3 * column + 3] += 180
    everything = LabelledImages.from_arrays(images, labels, ["a", "b", "c", "d"])
    return Dataset("quarters", everything.select(torch.arange(32)), everything.select(torch.arange(32, 48)))


class Flat(nn.Module):
    def __init__(self, channels, last_relu):
        super().__init__()
        self.layer = nn.Conv2d(channels, 5, 3)

    def forward(self, images):
        return self.layer(images).flatten(2).amax(2)


QUARTERS = DatasetFacts(
    "quarters",
    load,
    title="Four quarters",
    shape=(6, 6, 1),
    statistics=((0.3,), (0.3,)),
    protocol=PaperProtocol(memory=8, first=2, step=2, order="natural"),
    published=True,
)
FLAT = NetworkFacts("flat", Flat, features=5)


@dataclass(frozen=True)
class NearestSum(Rule):
    name = "nearest_sum"
    title = "nearest sum of features"
    formula = "argmin_c |Σf − s_c|"

    def fit(self, seen):
        sums, labels = seen.exemplars.features.sum(1), seen.exemplars.labels
        return {"sums": torch.stack([sums[labels == label].mean() for label in range(seen.classes)])}

    def scores(self, outputs, fitted):
        return -(outputs.features.sum(1)[:, None] - fitted["sums"]).abs()
'''
POINTS = """
[classgrow.datasets]
quarters = quarters_for_classgrow:QUARTERS
absent = no_such_module:FACTS

[classgrow.networks]
flat = quarters_for_classgrow:FLAT
broken = no_such_module:NETWORK

[classgrow.rules]
nearest_sum = quarters_for_classgrow:NearestSum
lost = no_such_module:RULE
"""
FLAGS = ("run", "--dataset", "quarters", "--network", "flat", "--epochs", "1", "--threads", "1")


def install(site: Path) -> None:
    """Put the package into a folder, as pip would."""
    info = site / "quarters_for_classgrow-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "quarters_for_classgrow.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: quarters-for-classgrow\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)


@pytest.fixture(scope="module")
def elsewhere(classgrow: Command, tmp_path_factory: pytest.TempPathFactory) -> Command:
    """`classgrow` in processes where that package is installed."""
    site = tmp_path_factory.mktemp("site")
    install(site)
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    return lambda *arguments: classgrow(*arguments, PYTHONPATH=path)


@pytest.fixture(scope="module")
def folder(elsewhere: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on that data set with that network."""
    output = tmp_path_factory.mktemp("outside") / "runs"
    done = elsewhere(*FLAGS, "--output", output)
    assert done.returncode == 0, done.stderr
    assert "fgp on quarters, seed 1, preset digits (flat), cpu" in done.stdout
    (found,) = output.iterdir()
    return found


def test_the_run_records_what_it_was(folder: Path) -> None:
    record = json.loads((folder / "record.json").read_text())
    resolved = record["resolved"]
    assert (resolved["dataset"], resolved["network"], resolved["kind"]) == ("quarters", "flat", "digits")
    assert (resolved["inputs"]["mean"], resolved["memory"], resolved["sizes"]) == ([0.3], 8, [2, 2])
    assert (record["status"], record["class_names"]) == ("finished", ["a", "b", "c", "d"])
    assert (record["spec"]["network"], record["spec"]["preset"], record["spec"]["rule"]) == ("flat", None, None)


def test_show_and_report_know_it(elsewhere: Command, classgrow: Command, folder: Path, tmp_path: Path) -> None:
    """And so they do, by the names in the record, where the package is not installed."""
    for command, title in ((elsewhere, "Four quarters"), (classgrow, "quarters")):
        shown = command("show", folder)
        assert shown.returncode == 0, shown.stderr
        assert "flat (preset digits)" in shown.stdout and "--network flat" in shown.stdout
        table = command("show", folder.parent)
        assert table.returncode == 0 and "quarters" in table.stdout
        report = tmp_path / title.replace(" ", "-")
        done = command("report", folder.parent, "--output", report)
        assert done.returncode == 0, done.stderr
        assert title in (report / "index.html").read_text()


def test_it_is_found_again_and_other_settings_are_other_runs(elsewhere: Command, folder: Path) -> None:
    again = elsewhere(*FLAGS, "--output", folder.parent)
    assert again.returncode == 0 and "already finished" in again.stdout, again.stderr
    done = elsewhere(*FLAGS, "--preset", "cifar", "--phases", "1", "--output", folder.parent / "other")
    assert done.returncode == 0 and "preset cifar (flat)" in done.stdout, done.stderr
    assert [path.name for path in (folder.parent / "other").iterdir()] != [folder.name]


def test_an_edited_network_or_data_set_is_a_new_run(classgrow: Command, tmp_path: Path) -> None:
    """The code behind a name is part of what a run is: nobody gets old numbers for new code."""
    site, output = tmp_path / "site", tmp_path / "runs"
    install(site)
    here = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    found: set[str] = set()
    for old, new in (("", ""), ("amax(2)", "mean(2)"), ("+= 180", "+= 90")):
        text = (site / "quarters_for_classgrow.py").read_text()
        (site / "quarters_for_classgrow.py").write_text(text.replace(old, new) if old else text)
        done = classgrow(*FLAGS, "--phases", "1", "--output", output, PYTHONPATH=here)
        assert done.returncode == 0 and "already finished" not in done.stdout, done.stderr
        assert {path.name for path in output.iterdir()} > found
        found = {path.name for path in output.iterdir()}
    again = classgrow(*FLAGS, "--phases", "1", "--output", output, PYTHONPATH=here)
    assert "already finished" in again.stdout and len(found) == 3


def test_a_loader_that_returns_something_else(
    classgrow: Command, check_refused: Callable[..., None], tmp_path: Path
) -> None:
    install(tmp_path)
    module = tmp_path / "quarters_for_classgrow.py"
    module.write_text(module.read_text().replace('    return Dataset("', '    return 3\n    return Dataset("'))
    here = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = classgrow(*FLAGS, "--output", tmp_path / "runs", PYTHONPATH=here)
    check_refused(done, "data set 'quarters'", "of type int, not a Dataset", "fix or uninstall")


def test_a_toml_file_names_them_too(elsewhere: Command, folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "quarters.toml"
    file.write_text('dataset = "quarters"\nnetwork = "flat"\npreset = "digits"\nepochs = 1\n')
    done = elsewhere("run", file, "--threads", "1", "--output", folder.parent)
    assert done.returncode == 0 and "already finished" in done.stdout, done.stderr


def test_a_broken_package_is_told_when_it_is_asked_for(
    elsewhere: Command, check_refused: Callable[..., None], tmp_path: Path
) -> None:
    check_refused(elsewhere("run", "--dataset", "absent"), "data set 'absent'", "no_such_module", "fix or uninstall")
    named = ("run", "--dataset", "quarters", "--output", tmp_path / "runs")
    check_refused(elsewhere(*named, "--network", "broken"), "network 'broken'", "no_such_module", "fix or uninstall")
    check_refused(elsewhere(*named, "--network", "flt"), "no network 'flt'", "Did you mean 'flat'?")
    assert not (tmp_path / "runs").exists()  # said before anything is written


def test_a_rule_answers_and_goes_through_show_and_report(elsewhere: Command, classgrow: Command, folder: Path) -> None:
    """Its accuracies are the run's; the method's own rules stand beside it, also where the package is missing."""
    output = folder.parent.parent / "by-rule"
    done = elsewhere(*FLAGS, "--rule", "nearest_sum", "--output", output)
    assert done.returncode == 0, done.stderr
    assert "nearest sum of features" in done.stdout
    (run,) = output.iterdir()
    record = json.loads((run / "record.json").read_text())
    assert run.name != folder.name and record["headline"] == record["resolved"]["rule"] == "nearest_sum"
    assert set(record["phases"][-1]["rules"]) == {"nearest_sum", "nearest", "head"}
    assert len(record["resolved"]["value"].split("-")) == 2  # its code is part of the identity
    for command in (elsewhere, classgrow):
        shown = command("show", run)
        assert shown.returncode == 0 and "nearest sum of features*" in shown.stdout, shown.stderr
        done = command("report", output, "--output", output.parent / "report")
        assert done.returncode == 0, done.stderr
        assert "nearest sum of features" in (output.parent / "report" / "runs" / f"{run.name}.html").read_text()
    again = elsewhere(*FLAGS, "--rule", "nearest_sum", "--output", output)
    assert again.returncode == 0 and "already finished" in again.stdout


def test_a_rule_that_is_not_there(elsewhere: Command, check_refused: Callable[..., None], tmp_path: Path) -> None:
    named = ("run", "--dataset", "quarters", "--output", tmp_path / "runs", "--rule")
    check_refused(elsewhere(*named, "lost"), "rule 'lost'", "no_such_module", "fix or uninstall")
    check_refused(elsewhere(*named, "nearst"), "no rule 'nearst'", "Did you mean 'nearest'?")
    check_refused(
        elsewhere(*named, "nearest", "--method", "finetune"), "'nearest' needs exemplars", "finetune keeps none"
    )
    assert not (tmp_path / "runs").exists()
