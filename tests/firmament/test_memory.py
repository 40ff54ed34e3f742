"""What a process tells the C library about its memory."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import weakref
from typing import Any

import pytest

from firmament.memory import (
    KEPT,
    M_ARENA_MAX,
    M_MMAP_MAX,
    M_TRIM_THRESHOLD,
    MIDDLE,
    OLD,
    YOUNG,
    keep_freed_memory,
    relax_garbage_collection,
)

FAULTS = textwrap.dedent(
    """
    import resource
    import numpy as np
    from firmament.memory import keep_freed_memory
    keep_freed_memory()
    for _ in range(3):
        np.ones(2**21), np.ones(2**23)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(2**21), np.ones(2**23)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    """
)

FAULTS_IN_OTHER_THREADS = textwrap.dedent(
    """
    import resource
    import threading
    import time
    import numpy as np
    from firmament.memory import keep_freed_memory
    keep_freed_memory()
    faults = []
    def round_():
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        np.ones(2**21)
        faults.append(resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before)
        meet.wait()
    meet = threading.Barrier(5)
    for number in range(1, 6):  # all live at once, so that none can take over what belongs to another
        threading.Thread(target=round_).start()
        while len(faults) < number:
            time.sleep(0.001)
    print(sum(faults[1:]))
    """
)


def faults(script: str) -> int:
    """What a script prints that is run in a process of its own."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_what_a_round_frees_serves_the_next():
    if not keep_freed_memory():
        pytest.skip("the C library is not glibc")
    assert faults(FAULTS) < 20  # a page of 4 KiB each, of 1.6 GiB


def test_what_a_thread_frees_serves_the_others():
    if not keep_freed_memory():
        pytest.skip("the C library is not glibc")
    assert faults(FAULTS_IN_OTHER_THREADS) < 200  # of 64 MiB, 16,000 pages; a thread's stack takes some


def test_garbage_is_collected_rarely_and_what_exists_is_left_out():
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    try:
        gc.unfreeze()
        kept: list[Any] = [[]]
        kept[0].append(kept)
        relax_garbage_collection()
        assert gc.get_threshold() == (YOUNG, MIDDLE, OLD)
        assert gc.get_freeze_count() > 0
        assert not any(each is kept for each in gc.get_objects()), "it is left out of later scans"
    finally:
        gc.set_threshold(*before)
        if not frozen:
            gc.unfreeze()


def test_garbage_that_exists_is_collected_before():
    class Node:
        other: Node

    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    gone: list[bool] = []
    try:
        node = Node()
        node.other = node
        weakref.finalize(node, gone.append, True)
        del node
        relax_garbage_collection()
        assert gone == [True]
    finally:
        gc.set_threshold(*before)
        if not frozen:
            gc.unfreeze()


def test_another_c_library_is_told_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ctypes.CDLL", lambda _: object())
    assert keep_freed_memory() is False


@pytest.mark.parametrize("refused", [None, M_TRIM_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX])
def test_glibc_is_told_three_settings(monkeypatch: pytest.MonkeyPatch, refused: int | None):
    told: dict[int, int] = {}

    class Library:
        def mallopt(self, name: int, value: int) -> int:
            told[name] = value
            return int(name != refused)

    monkeypatch.setattr("ctypes.CDLL", lambda _: Library())
    assert keep_freed_memory() is (refused is None)
    if refused is None:
        assert told == {M_TRIM_THRESHOLD: KEPT, M_MMAP_MAX: 0, M_ARENA_MAX: 1}
