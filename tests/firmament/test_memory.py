"""What a process tells the C library about its memory."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from firmament.memory import keep_freed_memory

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
