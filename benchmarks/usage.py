"""Processor time and memory of the processes of a run."""

from __future__ import annotations

from typing import Any

import psutil

from poseidon.testbed.harness.child import Child
from poseidon.testbed.harness.stack import Stack


class UsageSampler:
    """Samples resident memory, and measures processor time between ``begin`` and ``end``.

    A process that is restarted in between counts from its restart.
    """

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._peak: dict[str, int] = {}
        self._before: dict[int, float] = {}
        self._series: dict[str, list[int]] = {}

    def begin(self) -> None:
        """Measure from here on."""
        self._series.clear()
        self._before = {pid: seconds for _, pid, seconds, _ in self._read()}

    def sample(self) -> None:
        """Note how much memory is used now."""
        used: dict[str, int] = {}
        for name, _, _, memory in self._read():
            self._peak[name] = max(self._peak.get(name, 0), memory)
            used[name] = used.get(name, 0) + memory
        for name, memory in used.items():
            self._series.setdefault(name, []).append(memory)

    def series(self, points: int = 100) -> dict[str, list[float]]:
        """Return memory over time per kind of process (MiB, of all its processes together), thinned evenly."""
        thinned = {}
        for name, samples in self._series.items():
            step = max(1, len(samples) // points)
            thinned[name] = [round(sample / 2**20, 1) for sample in samples[::step]]
        return thinned

    def end(self) -> dict[str, Any]:
        """Return processor seconds and peak memory (MiB) per process, the solver's workers apart."""
        self.sample()
        seconds: dict[str, float] = {}
        for name, pid, used, _ in self._read():
            seconds[name] = seconds.get(name, 0.0) + used - self._before.get(pid, 0.0)
        return {
            name: {"cpuSeconds": round(seconds.get(name, 0.0), 2), "peakMiB": round(peak / 2**20, 1)}
            for name, peak in self._peak.items()
        }

    def _read(self) -> list[tuple[str, int, float, int]]:
        rows = [("driver", *_figures(psutil.Process()))]
        for name, child in (
            ("cluster", self._stack.cluster),
            ("solver", self._stack.solver),
            ("bridge", self._stack.bridge),
        ):
            rows.extend(_family(name, child))
        return rows


def _family(name: str, child: Child) -> list[tuple[str, int, float, int]]:
    if not child.alive:
        return []
    try:
        process = psutil.Process(child.pid)
        rows = [(name, *_figures(process))]
        rows.extend((f"{name} workers", *_figures(worker)) for worker in process.children(recursive=True))
    except psutil.Error:
        return []
    return rows


def _figures(process: psutil.Process) -> tuple[int, float, int]:
    times = process.cpu_times()
    return process.pid, times.user + times.system, process.memory_info().rss
