"""How the C library keeps memory: a training step frees and takes the same large blocks over and over."""

from __future__ import annotations

import ctypes
import platform
from functools import cache

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # mallopt's names, from malloc.h
THRESHOLDS = (2**30, 2**25)
"""Blocks up to so many bytes are kept; older versions take no more than the second, enough for our largest (8 MB)."""
LARGEST = 2**31 - 1
HUGE_PAGE = 14  # madvise's name for it, from sys/mman.h
PAGE = 2**21
RESERVE = 2**30 - PAGE
"""Bytes of address space asked for at once; nothing is used until something is written there."""


@cache
def keep_freed_memory() -> bool:
    """Ask glibc to keep freed blocks, and the system to back them with large pages; once a process.

    Otherwise every large tensor's memory goes back to the system and is faulted in again, 4 KB at a time. Returns
    whether it was done: other C libraries are left as they are.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    kept = any(library.mallopt(MMAP_THRESHOLD, size) for size in THRESHOLDS)
    if not (kept and library.mallopt(TRIM_THRESHOLD, LARGEST)):
        return False
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = (ctypes.c_size_t,)
    library.free.argtypes = (ctypes.c_void_p,)
    library.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    blocks = [library.malloc(RESERVE) for _ in range(2)]
    for start in filter(None, blocks):
        first = -(-start // PAGE) * PAGE
        library.madvise(first, start + RESERVE - first, HUGE_PAGE)  # only a wish: not all systems have them
    for start in blocks:
        library.free(start)  # stays with the process, for what comes next
    return True
