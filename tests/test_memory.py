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
        np.ones(2**21)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(2**21)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    """
)


def test_what_a_round_frees_serves_the_next():
    if not keep_freed_memory():
        pytest.skip("the C library is not glibc")
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 20  # a page of 4 KiB each, of 320 MiB
