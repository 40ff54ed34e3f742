"""Memory of a process that holds hundreds of thousands of long-lived objects, and large arrays for a round."""

from __future__ import annotations

import ctypes
import gc

YOUNG, MIDDLE, OLD = 50_000, 20, 100
"""Allocations, and collections of the generation below, between collections of each generation."""

M_TRIM_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -4, -8
"""glibc's names for what ``mallopt`` sets."""

KEPT = 128 * 2**20
"""Bytes of freed memory that the process keeps for the next round."""


def relax_garbage_collection() -> None:
    """Collect garbage rarely: the state has hardly any reference cycles, and a full scan of it takes tens of ms.

    What exists already (modules, configuration) is left out of all later scans.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)


def keep_freed_memory() -> bool:
    """Keep the memory that a round frees for the next one, as fresh pages cost more than the computation in them.

    No array gets pages of its own, however large: they would go back to the system with it. All threads started from
    here on share one pool: rounds run in whichever thread is free, and what one frees would be of no use to another.
    What is freed below pages in use stays, too: at worst the process keeps what its largest round took.
    Returns whether the C library took these settings; they are glibc's.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    settings = ((M_TRIM_THRESHOLD, KEPT), (M_MMAP_MAX, 0), (M_ARENA_MAX, 1))
    return all(mallopt(name, value) for name, value in settings)
