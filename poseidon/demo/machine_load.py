"""Measures how busy the machine was during a demonstration; if it was busy, the demonstration's speed tells little."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TICKS = Path("/proc/stat")
_IDLE = slice(3, 5)
"""Columns of the first line of ``/proc/stat``: idle, and waiting for disks."""
_COUNTED = slice(0, 8)
"""Columns of ``/proc/stat`` to add up; later columns, for guests, are already part of the user column."""


@dataclass(frozen=True, slots=True)
class MachineUse:
    """How busy the machine was.

    ``busy`` is the used share of all cores' time, 0 to 1; ``load`` is the mean number of runnable processes in the
    last minute. A figure is None if it is unknown.
    """

    cores: int
    busy: float | None
    load: float | None

    def as_json(self) -> dict[str, Any]:
        """Return the figures by the names that the documents give them."""
        return {"cores": self.cores, "busy": self.busy, "load": self.load}

    def __str__(self) -> str:
        cores = "1 core" if self.cores == 1 else f"{self.cores} cores"
        busy = [] if self.busy is None else [f"{self.busy:.0%} busy"]
        load = [] if self.load is None else [f"load {self.load:.1f}"]
        return ", ".join([cores, *busy, *load])


class MachineMeter:
    """Measures how busy the machine is, from the meter's creation on. ``read`` returns the text of ``/proc/stat``."""

    def __init__(self, read: Callable[[], str] = _TICKS.read_text) -> None:
        self._read = read
        self._begun = self._ticks()

    def use(self) -> MachineUse:
        """Return how busy the machine has been since the meter was made."""
        busy, now = None, self._ticks()
        if self._begun is not None and now is not None and now[1] > self._begun[1]:
            idle, whole = (after - before for before, after in zip(self._begun, now, strict=True))
            busy = round(min(max(1 - idle / whole, 0.0), 1.0), 3)
        try:
            load = round(os.getloadavg()[0], 2)
        except OSError:
            load = None
        return MachineUse(os.cpu_count() or 1, busy, load)

    def _ticks(self) -> tuple[int, int] | None:
        """Return the idle ticks and the total ticks of all cores, or None if the system does not report them."""
        try:
            name, *counts = self._read().partition("\n")[0].split()
            ticks = [int(each) for each in counts[_COUNTED]]
        except (OSError, ValueError):
            return None
        return (sum(ticks[_IDLE]), sum(ticks)) if name == "cpu" and len(ticks) > _IDLE.start else None
