"""How fast programs ran before, by machine type and by the tasks that ran beside them.

One record of kind ``WhareMapSample`` describes runs of one program on one machine type; its payload is JSON:

    {"program": "sort", "machineType": "m5.large", "runtimeSeconds": 12.5, "instructions": 4.0e10,
     "coRunners": {"devil": 1, "sheep": 3}, "count": 2}

``coRunners`` (tasks of each type on the machine, the run itself not counted; types left out are 0) may be missing, if
it is not known; ``count`` (1) is how many runs the figures are the mean of. The name of a record is the sender's
choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cost_models.api.parsed_records import BadRecordError, json_object, number, whole
from cost_models.firmament_policies.task_types import TaskType

RECORD_KIND = "WhareMapSample"
PICO = 1e12
MOST = 10**9

CoRunners = tuple[int, ...]
"""Tasks by type, in order of ``TaskType``."""

_KEYS = {"program", "machineType", "runtimeSeconds", "instructions", "coRunners", "count"}


@dataclass(slots=True)
class Mean:
    """A mean over runs."""

    total: float = 0.0
    runs: int = 0

    def add(self, figure: float, runs: int) -> None:
        """Count ``runs`` runs of the given mean figure."""
        self.total += figure * runs
        self.runs += runs

    @property
    def value(self) -> float:
        """The mean over all runs added."""
        return self.total / self.runs


@dataclass(frozen=True, slots=True)
class Program:
    """Picoseconds per instruction of one program: ``psi`` by machine type, ``xi`` by co-runners and machine type."""

    psi: dict[str, Mean] = field(default_factory=dict)
    xi: dict[tuple[CoRunners, str], Mean] = field(default_factory=dict)

    @property
    def best(self) -> float:
        """The lowest mean of all: what 100 stands for."""
        return min(mean.value for mean in (*self.psi.values(), *self.xi.values()))

    def mean(self, co_runners: CoRunners, machine_type: str) -> float:
        """The mean beside these co-runners, or else of the machine type, or else the highest of a machine type."""
        found = self.xi.get((co_runners, machine_type)) or self.psi.get(machine_type)
        return max(mean.value for mean in self.psi.values()) if found is None else found.value


@dataclass(frozen=True, slots=True)
class Sample:
    """One record, read: ``figure`` is in picoseconds per instruction."""

    program: str
    machine_type: str
    figure: float
    runs: int
    co_runners: CoRunners | None


def known_programs(samples: Mapping[str, Sample]) -> dict[str, Program]:
    """What is known of each program.

    Samples are added in order of name, so that equal records give equal means to the last digit.
    """
    programs: dict[str, Program] = {}
    for _, sample in sorted(samples.items()):
        program = programs.setdefault(sample.program, Program())
        program.psi.setdefault(sample.machine_type, Mean()).add(sample.figure, sample.runs)
        if sample.co_runners is not None:
            key = (sample.co_runners, sample.machine_type)
            program.xi.setdefault(key, Mean()).add(sample.figure, sample.runs)
    return programs


def parse_sample(payload: bytes) -> Sample:
    """Read one payload; raises ``BadRecordError``."""
    entry = json_object(payload)
    unknown = sorted(set(entry) - _KEYS)
    if unknown:
        raise BadRecordError(f"unknown key {unknown[0][:40]!r}")
    seconds = number("runtimeSeconds", entry.get("runtimeSeconds"), 1e-6, 1e9)
    instructions = number("instructions", entry.get("instructions"), 1.0, 1e24)
    return Sample(
        program=_text(entry, "program"),
        machine_type=_text(entry, "machineType"),
        figure=seconds * PICO / instructions,
        runs=whole("count", entry.get("count", 1), 1, MOST),
        co_runners=_co_runners(entry["coRunners"]) if "coRunners" in entry else None,
    )


def _co_runners(value: Any) -> CoRunners:
    names = {kind.name.lower(): kind for kind in TaskType}
    if not isinstance(value, dict) or not set(value) <= set(names):
        raise BadRecordError(f"coRunners is not an object with keys among {', '.join(names)}")
    return tuple(whole(f"coRunners.{name}", value.get(name, 0), 0, MOST) for name in names)


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise BadRecordError(f"{key} is not a non-empty text")
    return value
