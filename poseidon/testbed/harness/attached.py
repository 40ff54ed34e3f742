"""Script that becomes another program, which ends when its parent process ends; it is started by its path.

The script is called as ``attached.py PARENT_PID PROGRAM ARGUMENT…``. On Linux, the program gets SIGTERM when its
parent ends, even if the parent was killed and could not clean up.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_SET_PARENT_DEATH_SIGNAL = 1
"""``PR_SET_PDEATHSIG`` of ``prctl(2)``; it survives ``execv``."""


def main(arguments: list[str]) -> None:
    """Make this process end with its parent, and replace it by the program."""
    parent, program = int(arguments[0]), arguments[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:
            sys.exit(1)  # The parent ended before this signal was set.
    os.execv(program[0], program)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main(sys.argv[1:])
