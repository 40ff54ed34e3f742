"""Tells Python's garbage collector about a process that holds hundreds of thousands of long-lived objects."""

from __future__ import annotations

import gc

YOUNG, MIDDLE, OLD = 50_000, 20, 100
"""Allocations, and collections of the generation below, between collections of each generation."""


def relax_garbage_collection() -> None:
    """Collect rarely: the state has no reference cycles to speak of, and a full scan of it takes tens of ms.

    What exists already (modules, configuration) is left out of all later scans.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
