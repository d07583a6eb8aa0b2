"""The example client against a service that listens."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.serve.conftest import TOKEN, Live, noise, png

CLIENT = Path(__file__).parents[2] / "examples" / "client.py"


def run(live: Live, *words: str, token: str = TOKEN) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"CLASSGROW_URL": live.url, "CLASSGROW_TOKEN": token}
    command = [sys.executable, str(CLIENT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env=environment)


def test_it_predicts_and_teaches(fresh: Live, tmp_path: Path) -> None:
    for place in range(5):
        (tmp_path / f"blue{place}.png").write_bytes(png("blue", place))
    (tmp_path / "x.png").write_bytes(png("red", 30))
    (tmp_path / "y.png").write_bytes(noise())
    red, nothing = run(fresh, "predict", str(tmp_path / "x.png"), str(tmp_path / "y.png")).stdout.splitlines()
    assert red.startswith(f"{tmp_path / 'x.png'}: red (red ") and ": none of the known classes (" in nothing
    taught = run(fresh, "teach", "blue", *(str(tmp_path / f"blue{place}.png") for place in range(5)))
    lines = taught.stdout.splitlines()
    assert lines[-1] == "version 2", taught
    assert [line.split(":")[0] for line in lines[:-1]] == ["green", "red", "blue"] and lines[2].endswith(" (new)")
    assert run(fresh, "predict", str(tmp_path / "blue0.png")).stdout.split()[1] == "blue"
    refused = run(fresh, "predict", str(tmp_path / "x.png"), token="wrong")
    assert refused.returncode == 1 and refused.stderr.strip().startswith("Sign in with the link")
