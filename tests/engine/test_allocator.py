"""Freed memory stays with the process."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys, torch
from classgrow.engine.allocator import keep_freed_memory

print(keep_freed_memory(), keep_freed_memory())
torch.set_num_threads(1)
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(64 * 2**18)  # 64 MB, gone at once
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is asked to keep memory")
def test_the_same_block_is_not_faulted_in_again() -> None:
    """64 MB are 16,384 pages of 4 KB; taken a second time they cost next to none."""
    answer = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    done, again, *faults = answer.stdout.split()
    assert done == again == "True"
    assert all(int(number) < 100 for number in faults[1:])


def test_other_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from classgrow.engine import allocator

    monkeypatch.setattr(allocator.platform, "libc_ver", lambda: ("", ""))
    assert allocator.keep_freed_memory.__wrapped__() is False
