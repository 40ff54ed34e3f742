"""A program whose wall clock a test moves: it runs ahead by the seconds that a file holds.

``python -m tests.support.clock_ahead FILE MODULE ARGUMENTS...`` sets the clock before the program is imported.
"""

from __future__ import annotations

import runpy
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from poseidon.testbed.harness.child import Process, start_anew


class MovedClock:
    """The clock of the programs that are started by ``launch``; others, those of other modules, are as usual."""

    def __init__(self, file: Path, module: str) -> None:
        self._file, self._module = file, module
        self.ahead = 0.0
        self.move(0.0)

    def move(self, seconds: float) -> None:
        """Let time pass for those programs."""
        self.ahead += seconds
        beside = self._file.with_suffix(".new")
        beside.write_text(str(self.ahead))
        beside.rename(self._file)

    def now(self) -> float:
        """Return seconds since the epoch as those programs count them."""
        return time.time() + self.ahead

    async def launch(self, command: Sequence[str], log: IO[bytes], environment: Mapping[str, str]) -> Process:
        """Start an interpreter that runs a module; a ``Launch`` of the testbed's harness."""
        if command[0] == self._module:
            command = ("tests.support.clock_ahead", str(self._file), *command)
        return await start_anew(command, log, environment)


def main(file: Path, module: str, arguments: Sequence[str]) -> None:
    """Set the clock, then run the module."""
    real = time.time
    time.time = lambda: real() + float(file.read_text())
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
