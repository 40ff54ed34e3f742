"""Starts processes for measurements that end when the process that has started them ends."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

from firmament.solvers.worker import die_with_parent


def make_pool(workers: int) -> ProcessPoolExecutor:
    """Return a pool of fresh processes that the kernel ends once this process is gone, even if it was killed."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    die_with_parent(parent.sentinel)
