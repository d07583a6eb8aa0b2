"""On what a run was made: versions, hardware, commit. Read without importing torch."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from classgrow import __version__
from classgrow.records.record import Code, Hardware, Versions

_PACKAGE = Path(__file__).resolve().parents[1]


def versions() -> Versions:
    """Versions of python and of the libraries; torch is None where it is not installed."""
    return Versions(
        python=platform.python_version(),
        torch=_installed("torch"),
        numpy=_installed("numpy") or "unknown",
        classgrow=__version__,
    )


def hardware() -> Hardware:
    """The processor, the cores this process may use, the memory and the platform."""
    return Hardware(
        cpu=_cpu_name(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_gb=_memory_gb(),
        machine=f"{platform.system()} {platform.machine()}",
    )


def code() -> Code:
    """The version, and in a checkout of this project its commit (with "-modified" if tracked files differ)."""
    root = _PACKAGE.parents[1]
    is_checkout = (root / ".git").exists() and (root / "src" / "classgrow") == _PACKAGE
    return Code(version=__version__, commit=_commit(root) if is_checkout else None)


def _commit(root: Path) -> str | None:
    head = _git(root, "rev-parse", "HEAD")
    changes = _git(root, "status", "--porcelain", "--untracked-files=no")
    return f"{head}-modified" if head and changes else head


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _memory_gb() -> float | None:
    if sys.platform == "win32":  # it has no sysconf
        return None
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (ValueError, OSError):
        return None
