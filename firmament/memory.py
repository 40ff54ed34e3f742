"""Tunes the memory of a process that holds hundreds of thousands of long-lived objects, and large arrays in rounds."""

from __future__ import annotations

import ctypes
import gc

YOUNG, MIDDLE, OLD = 50_000, 20, 100
"""Thresholds of Python's garbage collector: allocations before a collection of the youngest generation, and for each
older generation, collections of the next younger one before its own."""

M_TRIM_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -4, -8
"""glibc's names for what ``mallopt`` sets."""

KEPT = 128 * 2**20
"""Bytes of freed memory that the process keeps for the next round."""


def relax_garbage_collection() -> None:
    """Collect garbage rarely: the state has hardly any reference cycles, and scanning all of it takes tens of ms.

    Objects that exist already (modules, configuration) are left out of all later scans.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)


def keep_freed_memory() -> bool:
    """Keep the memory that a round frees for the next round, because fresh pages would cost more time.

    With this setting, no array gets pages of its own, however large, because its pages would go back to the system
    with the array. All threads started after this call share one pool: a round runs in any free thread, and could not
    use memory in another thread's pool. Freed memory below pages in use stays too: at worst, the process keeps what
    its largest round took. Return whether the C library accepted these settings, which only glibc does.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    settings = ((M_TRIM_THRESHOLD, KEPT), (M_MMAP_MAX, 0), (M_ARENA_MAX, 1))
    return all(mallopt(name, value) for name, value in settings)
