"""Records of how fast programs ran, by machine type and by the tasks that ran beside them.

One record of kind ``WhareMapSample`` describes runs of one program on one machine type; its payload is JSON:

    {"program": "sort", "machineType": "m5.large", "runtimeSeconds": 12.5, "instructions": 4.0e10,
     "coRunners": {"devil": 1, "sheep": 3}, "count": 2}

``coRunners`` counts the other tasks on the machine by type; types that are left out count as 0, and the whole field
may be absent if the co-runners are not known. ``count`` (1) says of how many runs the figures are the mean. The
sender chooses the record's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from cost_models.api.parsed_records import BadRecordError, check_number, check_whole, parse_object
from cost_models.firmament_policies.task_types import TaskType

RECORD_KIND = "WhareMapSample"
PICO = 1e12
MOST = 10**9

Key = TypeVar("Key")
CoRunners = tuple[int, ...]
"""How many tasks of each type ran beside, in the order of ``TaskType``."""

_KEYS = {"program", "machineType", "runtimeSeconds", "instructions", "coRunners", "count"}


@dataclass(frozen=True, slots=True)
class Program:
    """Mean picoseconds per instruction of a program: ``psi`` by machine type, ``xi`` by co-runners and machine type."""

    psi: Mapping[str, float]
    xi: Mapping[tuple[CoRunners, str], float]

    @property
    def best(self) -> float:
        """The lowest of all means of the program, in picoseconds per instruction: the base (100) of its costs."""
        return min([*self.psi.values(), *self.xi.values()])

    def mean(self, co_runners: CoRunners, machine_type: str) -> float:
        """Return the mean beside these co-runners, else the mean of the machine type, else the highest mean of any
        machine type.
        """
        found = self.xi.get((co_runners, machine_type), self.psi.get(machine_type))
        return max(self.psi.values()) if found is None else found


@dataclass(frozen=True, slots=True)
class Sample:
    """The content of one record; ``figure`` is in picoseconds per instruction."""

    program: str
    machine_type: str
    figure: float
    runs: int
    co_runners: CoRunners | None


def merge_samples(samples: Mapping[str, Sample]) -> dict[str, Program]:
    """Return the means of each program's samples, by name of the program.

    Samples are added in order of name, so that equal records give equal means to the last digit.
    """
    by_program: dict[str, list[Sample]] = {}
    for _, sample in sorted(samples.items()):
        by_program.setdefault(sample.program, []).append(sample)
    return {
        name: Program(
            _means((each.machine_type, each) for each in found),
            _means(
                ((each.co_runners, each.machine_type), each) for each in found if each.co_runners is not None
            ),
        )
        for name, found in by_program.items()
    }


def _means(samples: Iterable[tuple[Key, Sample]]) -> dict[Key, float]:
    """Return the mean over all runs of each key's samples."""
    totals: dict[Key, tuple[float, int]] = {}
    for key, sample in samples:
        total, runs = totals.get(key, (0.0, 0))
        totals[key] = total + sample.figure * sample.runs, runs + sample.runs
    return {key: total / runs for key, (total, runs) in totals.items()}


def parse_sample(payload: bytes) -> Sample:
    """Read one payload; raises ``BadRecordError``."""
    entry = parse_object(payload)
    unknown = sorted(set(entry) - _KEYS)
    if unknown:
        raise BadRecordError(f"unknown key {unknown[0][:40]!r}")
    seconds = check_number("runtimeSeconds", entry.get("runtimeSeconds"), 1e-6, 1e9)
    instructions = check_number("instructions", entry.get("instructions"), 1.0, 1e24)
    return Sample(
        program=_text(entry, "program"),
        machine_type=_text(entry, "machineType"),
        figure=seconds * PICO / instructions,
        runs=check_whole("count", entry.get("count", 1), 1, MOST),
        co_runners=_co_runners(entry["coRunners"]) if "coRunners" in entry else None,
    )


def _co_runners(value: Any) -> CoRunners:
    names = {kind.name.lower(): kind for kind in TaskType}
    if not isinstance(value, dict) or not set(value) <= set(names):
        raise BadRecordError(f"coRunners is not an object with keys among {', '.join(names)}")
    return tuple(check_whole(f"coRunners.{name}", value.get(name, 0), 0, MOST) for name in names)


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise BadRecordError(f"{key} is not a non-empty text")
    return value
