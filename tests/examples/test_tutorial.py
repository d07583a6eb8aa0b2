"""The tutorial runs in a kernel of its own from top to bottom, and is committed with small, clean outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "tutorial.ipynb"
CHECK = """
final = {method: values[-1] for method, values in curves.items()}
assert final["fgp"] > 0.7 and final["fgp"] > final["finetune"] + 0.2, curves
assert sorted(loaded.classes) == list(range(10)) and loaded.predict(unseen) == learner.predict(unseen)
"""


def code_cells() -> list[dict[str, Any]]:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_it_runs_and_keeps_its_promises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(CHECK))
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    assert list(tmp_path.iterdir()) == []  # it leaves nothing behind


def test_its_outputs_are_committed_and_small() -> None:
    assert NOTEBOOK.stat().st_size < 60_000
    cells = code_cells()
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {"stream", "display_data", "execute_result"}  # no error
    assert all(output.get("name") != "stderr" for output in outputs)
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 2
    assert not any(word in NOTEBOOK.read_text(encoding="utf-8") for word in ("/root", "/home", "/tmp", "/Users"))
