"""How the C library keeps memory: a training step frees and takes the same large blocks over and over."""

from __future__ import annotations

import ctypes
import platform
from functools import cache

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # glibc's names for mallopt, in malloc.h
LARGEST = 2**31 - 1


@cache
def keep_freed_memory() -> bool:
    """Ask glibc to keep freed blocks rather than give them back and fault every page in again; once a process.

    Returns whether it was done: other C libraries are left as they are.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(MMAP_THRESHOLD, 2**30)) and bool(mallopt(TRIM_THRESHOLD, LARGEST))
