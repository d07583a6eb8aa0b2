"""The lock on a file, on Unix and as it would be on Windows; and nothing else of Unix is needed at import."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from classgrow import file_lock
from classgrow.file_lock import lock

SOURCE = Path(file_lock.__file__).parent


def test_a_lock_is_for_one_or_shared(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("w") as first, path.open() as second, path.open() as third:
        assert lock(first)
        assert not lock(second)
        assert not lock(second, shared=True)
        first.close()
        assert lock(second, shared=True)
        assert lock(third, shared=True) is (sys.platform != "win32")


def test_waiting_ends_when_the_lock_is_free(tmp_path: Path) -> None:
    path, held_seconds = tmp_path / "lock", 0.3
    first = path.open("w")
    assert lock(first)
    threading.Timer(held_seconds, first.close).start()
    started = time.monotonic()
    with path.open() as second:
        assert lock(second, wait=True)
    assert time.monotonic() - started > held_seconds / 2


@pytest.fixture
def on_windows(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module as Windows would load it, with an `msvcrt` that knows which file is locked by which handle."""
    held: dict[int, int] = {}

    def locking(handle: int, mode: int, count: int) -> None:
        assert (mode, count) == (2, 1)
        owner = held.setdefault(Path(f"/proc/self/fd/{handle}").stat().st_ino, handle)
        if owner != handle:
            raise PermissionError(13, "Permission denied")

    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2, held=held))
    monkeypatch.setattr(sys, "platform", "win32")
    spec = importlib.util.spec_from_file_location("file_lock_on_windows", file_lock.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.undo()
    return module


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the pretended Windows looks up files in /proc")
def test_on_windows_a_byte_of_the_file_is_locked(on_windows: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("w") as first, path.open() as second:
        assert on_windows.lock(first)
        assert not on_windows.lock(second)
        threading.Timer(0.1, on_windows.msvcrt.held.clear).start()
        assert on_windows.lock(second, wait=True)


IMPORT_ALL = """
import importlib, sys, types

if sys.platform != "win32":  # pretend to be there
    for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog"):
        sys.modules[name] = None  # importing it fails
    sys.modules["msvcrt"] = types.ModuleType("msvcrt")
    real, sys.platform = sys.platform, "win32"
    import classgrow.file_lock
    sys.platform = real
    del sys.modules["msvcrt"]  # Python's own libraries take it for the sign of Windows
for name in sys.argv[1:]:
    importlib.import_module(name)
print(len(sys.argv) - 1)
"""


def test_every_module_is_imported_without_the_modules_of_unix() -> None:
    files = [path.relative_to(SOURCE.parent).with_suffix("") for path in sorted(SOURCE.rglob("*.py"))]
    names = [".".join(file.parts).removesuffix(".__init__") for file in files if file.name != "__main__"]
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL, *names], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == (str(len(names)), 0), done.stderr
    assert len(names) > 100
