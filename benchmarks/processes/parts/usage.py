"""Measures processor time, memory, threads and descriptors of the processes of a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import psutil

from poseidon.testbed.harness.stack import Stack

Roots: TypeAlias = Callable[[], Mapping[str, int]]
"""A function that returns process ids by name."""


class _Figures(NamedTuple):
    """One process at one moment. ``memory`` is in bytes."""

    name: str
    pid: int
    seconds: float
    memory: int
    threads: int
    descriptors: int


class UsageSampler:
    """Samples resident memory, and measures processor time between ``begin`` and ``end``.

    A process that is restarted in between counts from its restart.
    """

    def __init__(self, roots: Roots) -> None:
        """Prepare a sampler. ``roots``: returns the present processes by name; their children count as workers."""
        self._roots = roots
        self._peak: dict[str, int] = {}
        self._before: dict[int, float] = {}
        self._series: dict[str, list[int]] = {}
        self._counts: dict[str, dict[str, list[int]]] = {"threads": {}, "descriptors": {}}

    def begin(self) -> None:
        """Start measuring."""
        self._series.clear()
        for counted in self._counts.values():
            counted.clear()
        self._before = {each.pid: each.seconds for each in self._read()}

    def sample(self) -> None:
        """Record the present use of memory."""
        used: Counter[str] = Counter()
        counts = {kind: Counter[str]() for kind in self._counts}
        for each in self._read():
            self._peak[each.name] = max(self._peak.get(each.name, 0), each.memory)
            used[each.name] += each.memory
            counts["threads"][each.name] += each.threads
            counts["descriptors"][each.name] += each.descriptors
        for name, memory in used.items():
            self._series.setdefault(name, []).append(memory)
        for kind, by_name in counts.items():
            for name, count in by_name.items():
                self._counts[kind].setdefault(name, []).append(count)

    def series(self, points: int = 100) -> dict[str, list[float]]:
        """Return memory over time per kind of process (MiB, of all its processes together), thinned evenly."""
        thinned = {}
        for name, samples in self._series.items():
            step = max(1, len(samples) // points)
            thinned[name] = [round(sample / 2**20, 1) for sample in samples[::step]]
        return thinned

    def counts(self) -> dict[str, dict[str, list[int]]]:
        """Return ``threads`` and ``descriptors`` over time per kind of process, of all its processes together."""
        return self._counts

    def end(self) -> dict[str, Any]:
        """Return processor seconds and peak memory (MiB) per process, the solver's workers apart."""
        self.sample()
        seconds: dict[str, float] = {}
        for each in self._read():
            used = each.seconds - self._before.get(each.pid, 0.0)
            seconds[each.name] = seconds.get(each.name, 0.0) + used
        return {
            name: {"cpuSeconds": round(seconds.get(name, 0.0), 2), "peakMiB": round(peak / 2**20, 1)}
            for name, peak in self._peak.items()
        }

    def totals(self) -> dict[str, float]:
        """Return the processor seconds of each kind of process since its start, for running processes."""
        seconds: defaultdict[str, float] = defaultdict(float)
        for each in self._read():
            seconds[each.name] += each.seconds
        return dict(seconds)

    def _read(self) -> list[_Figures]:
        rows = [_figures("driver", psutil.Process())]
        for name, pid in self._roots().items():
            rows.extend(_family(name, pid))
        return rows


def stack_roots(stack: Stack) -> Roots:
    """Return a function that returns the process ids of a stack's running programs."""

    def roots() -> dict[str, int]:
        children = {"cluster": stack.cluster, "solver": stack.solver, "bridge": stack.bridge}
        return {name: child.pid for name, child in children.items() if child.alive}

    return roots


def _family(name: str, pid: int) -> list[_Figures]:
    try:
        process = psutil.Process(pid)
        rows = [_figures(name, process)]
        rows.extend(_figures(f"{name} workers", worker) for worker in process.children(recursive=True))
    except psutil.Error:
        return []
    return rows


def _figures(name: str, process: psutil.Process) -> _Figures:
    with process.oneshot():
        times = process.cpu_times()
        return _Figures(
            name,
            process.pid,
            times.user + times.system,
            process.memory_info().rss,
            process.num_threads(),
            process.num_fds(),
        )
