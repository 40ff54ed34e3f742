"""What a process tells the C library about its memory."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from firmament.memory import keep_freed_memory

FAULTS = textwrap.dedent(
    """
    import resource, sys
    import numpy as np
    from firmament.memory import keep_freed_memory
    if sys.argv[1] == "keep" and not keep_freed_memory():
        sys.exit(3)
    for _ in range(3):
        np.ones(2**21)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(2**21)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    """
)


def faults(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", FAULTS, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_what_a_round_frees_serves_the_next():
    if not keep_freed_memory():
        pytest.skip("the C library is not glibc")
    assert faults("keep") < 20
