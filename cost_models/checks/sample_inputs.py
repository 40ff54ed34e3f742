"""Sample inputs for the checks of cost models: an ordinary case, and corner cases that occur in clusters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import (
    Assigned,
    Float64,
    Load,
    MachineColumns,
    Residents,
    ShapeBatch,
    ShapeRow,
)

RESOURCES = ("pods", "cpu", "memory", "ephemeral-storage", "example.com/device")
NOW = 1_750_000_000.0
GIB = 2**30

CAPACITY = (
    *[(110, 4_000, 16 * GIB, 100 * GIB, 0)] * 3,
    (250, 96_000, 768 * GIB, 0, 8),
    (0, 0, 0, 0, 0),
    (1, 1, 1, 1, 1),
)
FREE = (
    (110, 4_000, 16 * GIB, 100 * GIB, 0),
    (60, 2_000, 8 * GIB, 90 * GIB, 0),
    (0, 0, 0, 0, 0),
    (249, 500, 760 * GIB, 0, 3),
    (0, 0, 0, 0, 0),
    (1, 1, 1, 1, 1),
)
RUNNING = (0, 50, 110, 1, 0, 0)
REQUESTS = (
    (1, 100, 128 * 2**20, 0, 0),
    (1, 0, 0, 0, 0),
    (1, 64_000, 500 * GIB, GIB, 4),
)


@dataclass(frozen=True, slots=True)
class Case:
    """An input for checks of a model; ``name`` says in words what is special about it."""

    name: str
    machines: MachineColumns
    shapes: ShapeBatch


@dataclass(frozen=True, slots=True)
class StatedWindows:
    """A sample history of use: ``stated`` (float64[M, K]) for the statistics ``kinds`` over ``seconds`` or over all
    samples, NaN for everything else.
    """

    kinds: Sequence[str]
    seconds: float
    stated: Float64

    def usage(self, kind: str, seconds: float) -> Float64:
        """Return a copy of ``stated`` if the load has this statistic, else NaN: float64[M, K]."""
        known = kind in self.kinds and seconds in (0.0, self.seconds)
        return self.stated.copy() if known else np.full_like(self.stated, np.nan)


def read_only(case: Case) -> Case:
    """Make all arrays of a case read-only, and return the case."""
    for array in _arrays(case):
        array.setflags(write=False)
    return case


def _arrays(value: Any) -> Iterator[NDArray[Any]]:
    """Yield all arrays in the fields of a dataclass, and in the fields of dataclasses inside it."""
    for each in fields(value):
        part = getattr(value, each.name)
        if isinstance(part, np.ndarray):
            yield part
        elif is_dataclass(part):
            yield from _arrays(part)


def ordinary_machines(records: Mapping[str, Mapping[str, bytes]] | None = None) -> MachineColumns:
    """Return six machines: empty, half full, full, large with devices, without any capacity, and with one of
    everything.

    One machine has a fresh sample of its use, one has a sample above its capacity from the day before, the others
    have none.
    """
    count = len(CAPACITY)
    usage = np.full((count, len(RESOURCES)), np.nan)
    usage_time = np.full(count, np.nan)
    usage[1], usage_time[1] = (50, 1_234.5, 3.5 * GIB, 0, 0), NOW - 5
    usage[2], usage_time[2] = (110, 5_000.0, 17.0 * GIB, 0, 0), NOW - 86_400
    return MachineColumns(
        names=tuple(f"machine-{index}" for index in range(count)),
        resources=RESOURCES,
        capacity=np.array(CAPACITY, dtype=np.int64),
        free=np.array(FREE, dtype=np.int64),
        running=np.array(RUNNING, dtype=np.int64),
        labels=tuple(
            {"kubernetes.io/hostname": f"machine-{index}"} if index else {} for index in range(count)
        ),
        annotations=tuple({"example.com/note": "any text"} if index % 2 else {} for index in range(count)),
        usage=usage,
        usage_time=usage_time,
        records=records or {},
        now=NOW,
    )


def ordinary_shapes() -> ShapeBatch:
    """Return three shapes: small, without requests, and too large for most machines."""
    return ShapeBatch(
        requests=np.array(REQUESTS, dtype=np.int64),
        counts=np.array([500, 1, 3], dtype=np.int64),
        rows=(
            ShapeRow("default", {"app": "web"}),
            ShapeRow(),
            ShapeRow("research", {"app": "training"}, {"example.com/note": "any text"}),
        ),
    )


def ordinary_residents() -> Residents:
    """Return tasks of the ordinary shapes on the machines that run any; those of a full and a large one are mixed."""
    shapes = ordinary_shapes()
    return Residents(
        machine=np.array([1, 2, 2, 3], dtype=np.int64),
        kind=np.array([0, 0, 1, 2], dtype=np.int64),
        count=np.array([50, 100, 10, 1], dtype=np.int64),
        kinds=shapes.rows,
        requests=shapes.requests,
    )


def ordinary_load() -> Load:
    """Return the reported use of the six ordinary machines and of some tasks: seen, not seen yet, and of an unknown
    time.

    Two machines have a source of reports, one of which aggregates; a third machine has a source without figures.
    """
    shapes, count = ordinary_shapes(), len(CAPACITY)
    windows = np.full((count, len(RESOURCES)), np.nan)
    windows[1] = (50, 2_000.0, 4.0 * GIB, 0, 0)
    return Load(
        reported=np.array([False, True, True, True, False, False]),
        interval=np.array([0.0, 60.0, 0.0, 30.0, 0.0, 0.0]),
        system=np.tile(np.array([0.0, 100.5, 0.25 * GIB, 0, 0]), (count, 1)),
        total=np.array(CAPACITY, dtype=np.int64) * 2,
        windows=StatedWindows(("avg", "p95", "std"), 300.0, windows),
        assigned=Assigned(
            machine=np.array([1, 1, 2, 3], dtype=np.int64),
            kind=np.array([0, 0, 1, 2], dtype=np.int64),
            time=np.array([NOW - 3_600, NOW - 1, NOW - 90_000, np.nan]),
            initialized=np.array([NOW - 3_500, np.nan, np.nan, np.nan]),
            reported=np.array([True, False, True, False]),
            usage=np.array([[1, 20.5, GIB, 0, 0], [0] * 5, [1, 5_000.0, 17.0 * GIB, 0, 0], [0] * 5]),
            prod=np.array([True, True, False, True]),
            kinds=tuple(
                replace(row, service_class=name)
                for row, name in zip(shapes.rows, ("koord-prod", "koord-batch", ""), strict=True)
            ),
            requests=shapes.requests,
        ),
    )


def tasks_that_state_nothing(case: Case) -> Case:
    """Return ``case``, changed so that waiting tasks and some running ones are assumed to need more than stated."""
    machines, shapes = case.machines, case.shapes
    unstated = np.zeros_like(machines.capacity)
    unstated[[1, 2], 1], unstated[[1, 2], 2] = 20_000, GIB  # one request exceeds what any machine has
    needed = np.zeros_like(shapes.requests)
    needed[1, 1:3] = 100, 200 * 2**20
    return Case(
        "tasks that state nothing",
        replace(machines, unstated=unstated),
        replace(shapes, unstated=needed),
    )


def of_machines(machines: MachineColumns, rows: Sequence[int]) -> MachineColumns:
    """Return ``machines`` with only these rows, and without the tasks and the detailed use of these machines."""
    return replace(machines.select(np.array(rows, dtype=np.int64)), residents=None)


def of_resources(case: Case, name: str, columns: Sequence[int]) -> Case:
    """Return a case that has only these resources."""
    chosen = list(columns)
    machines, shapes = case.machines, case.shapes
    return Case(
        name,
        replace(
            machines,
            resources=tuple(machines.resources[column] for column in chosen),
            capacity=machines.capacity[:, chosen],
            free=machines.free[:, chosen],
            usage=machines.usage[:, chosen],
            unstated=None if machines.unstated is None else machines.unstated[:, chosen],
            residents=None,
            load=None,
        ),
        replace(
            shapes,
            requests=shapes.requests[:, chosen],
            unstated=None if shapes.unstated is None else shapes.unstated[:, chosen],
        ),
    )


def standard_cases(records: Sequence[str] = ()) -> list[Case]:
    """Return all standard inputs; ``records``: the kinds that the model needs, which are also made malformed."""
    machines, shapes = ordinary_machines(), ordinary_shapes()
    ordinary = Case("ordinary", machines, shapes)
    nothing = ShapeBatch(shapes.requests[:0], shapes.counts[:0], ())
    malformed = {kind: {"empty": b"", "machine-1": b"\xff\x00 not a record"} for kind in records}
    unmeasured = replace(
        machines,
        usage=np.full_like(machines.usage, np.nan),
        usage_time=np.full_like(machines.usage_time, np.nan),
    )
    cases = [
        ordinary,
        Case("no machines", of_machines(machines, []), shapes),
        Case("no shapes", machines, nothing),
        Case("neither machines nor shapes", of_machines(machines, []), nothing),
        Case("one machine", of_machines(machines, [1]), shapes),
        Case("one machine without capacity", of_machines(machines, [4]), shapes),
        Case("machines without any measured use", unmeasured, shapes),
        Case("machines with known tasks", replace(machines, residents=ordinary_residents()), shapes),
        tasks_that_state_nothing(ordinary),
        Case("machines with reported use", replace(machines, load=ordinary_load()), shapes),
        Case("records of no known kind", ordinary_machines({"unheard-of": {"name": b"payload"}}), shapes),
        Case("malformed records", ordinary_machines(malformed), shapes),
        of_resources(ordinary, "no resource but pods", [0]),
        of_resources(ordinary, "an extended resource first, no memory", [4, 0, 1]),
    ]
    return [read_only(case) for case in cases]
