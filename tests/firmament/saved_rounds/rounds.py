"""Rounds to save: a small cluster with pins, preferences and an overlay, and the files of one of its rounds."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from cost_models.interface import Assessment, JointRows, MachineColumns, ShapeBatch
from firmament.core.configuration import CoreConfiguration, RoundOptions, WeightedModel
from firmament.core.events import Event, TasksBound
from firmament.core.flow.column_generation import GenerationOptions
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.model import NodeSelectorTerm, PreferredTerm, Requirement
from firmament.core.placement.outcome import PassOptions
from firmament.core.scheduler import Scheduler
from firmament.saved_rounds import SavedRoundError
from firmament.saved_rounds.saved_arrays import decode_arrays, encode_arrays
from firmament.saved_rounds.saving import RoundRecord, encode_round
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import Clock, machine, task_class, tasks, uids
from tests.support.models import Stated

VERSIONS = {"ortools": "9"}
OPTIONS = RoundOptions(
    passes=PassOptions(max_passes=5, solve_time_limit=None, generation=GenerationOptions(base_total=40))
)


def shared_limit(machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
    """An overlay that likes later machines less, with room for three tasks on the first two machines together."""
    row_of = np.full(machines.count, -1, dtype=np.int64)
    row_of[:2] = 0
    limit = JointRows(row_of, np.ones(shapes.count, dtype=np.int64), np.array([3]), "shared limit")
    raw = np.tile(np.arange(machines.count, dtype=np.float64), (shapes.count, 1))
    return Assessment(raw=raw, joint=(limit,))


def overlay() -> WeightedModel:
    return WeightedModel(Stated(shared_limit, name="shared"), weight=3)


def events() -> list[Event]:
    zone = PreferredTerm(50, NodeSelectorTerm(labels=(Requirement("zone", "In", ("a",)),)))
    made: list[Event] = [
        machine(f"m{index}", cpu=1000, labels={"zone": "a" if index == 4 else "b"}) for index in range(6)
    ]
    made += tasks(1, *uids("big", 4), content=task_class(cpu=600), priority=1)
    made += tasks(
        2, *uids("small", 9), content=task_class(cpu=150, preferred=(zone,), labels=(("app", "s"),))
    )
    made += tasks(3, *uids("pinned", 2), content=task_class(cpu=100, machine="m3"))
    made += tasks(4, *uids("huge", 1), content=task_class(cpu=5000))
    made.append(TasksBound("m5", 2, ("running",)))
    return made


def configuration(*, overlays: Sequence[WeightedModel] | None = None) -> CoreConfiguration:
    return CoreConfiguration(overlays=tuple([overlay()] if overlays is None else overlays), options=OPTIONS)


def record(config: CoreConfiguration, happened: list[Event] | None = None) -> RoundRecord:
    """Run one round and return it."""
    scheduler = Scheduler(configuration=config, solver=OrToolsSolver(), clock=Clock())
    scheduler.apply(events() if happened is None else happened)
    opened = scheduler.open_round()
    placement = opened.solve()
    assert opened.snapshot is not None
    return RoundRecord("c", opened.snapshot, placement, scheduler.close_round(opened, placement))


def entries(content: bytes) -> dict[str, np.ndarray]:
    """The entries of a ``problem.npz``."""
    with np.load(io.BytesIO(content)) as archive:
        return {name: archive[name] for name in archive.files}


def changed(content: bytes, changes: Mapping[str, Any]) -> bytes:
    """A ``problem.npz`` with other entries; None leaves one out."""
    given: dict[str, Any] = {
        name: entry for name, entry in {**entries(content), **changes}.items() if entry is not None
    }
    written = io.BytesIO()
    np.savez(written, **given)
    return written.getvalue()


def refusal(problem: PlacementProblem, placed: Assignments | None = None) -> str:
    """With what message a problem that makes no sense is refused once it has been saved."""
    with pytest.raises(SavedRoundError) as refused:
        decode_arrays(encode_arrays(problem, placed or Assignments.empty()))
    message = str(refused.value)
    assert message.startswith("problem.npz: ")
    assert message.endswith("; save the round again")
    assert "\n" not in message
    return message.removeprefix("problem.npz: ").removesuffix("; save the round again")


def files(config: CoreConfiguration | None = None) -> dict[str, bytes]:
    config = config or configuration()
    return encode_round(record(config), VERSIONS)
