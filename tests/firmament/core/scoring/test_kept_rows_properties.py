"""What is kept between rounds changes nothing: a core that keeps rows and one that keeps none see and do the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.firmament_policies.cpu_mem import EXPIRATION_SECONDS
from cost_models.firmament_policies.whare_samples import RECORD_KIND
from cost_models.interface import (
    Assessment,
    BaseModel,
    CostModel,
    Float64,
    Int64,
    MachineColumns,
    Needs,
    Promises,
    Range,
    ShapeBatch,
)
from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, RoundOptions, WeightedModel
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    ClassRemoved,
    Event,
    MachineRemoved,
    MachineSampled,
    MachineSampleRemoved,
    MachineUpserted,
    RecordRemoved,
    RecordUpserted,
    TaskRemoved,
    TaskSampled,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Machine, NodeSelectorTerm, PreferredTerm, Requirement, TaskClass
from firmament.core.scheduler import Scheduler
from firmament.core.scoring.kept_rows import KeptRows
from firmament.core.snapshot.snapshot import Snapshot
from firmament.core.state.classes import LEAST_SURPLUS
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.effort import examples

START = 1_750_000_000.0
MACHINES = tuple(f"m{number}" for number in range(5))
UIDS = tuple(f"t{number:02}" for number in range(24))
CLASSES = 6
PASSING = LEAST_SURPLUS


class Fussy(BaseModel):
    """A model with all that answers about single machines may have: verdicts, causes and scores beside figures.

    It prefers machines with the shape's own label, and refuses those that are full or labelled ``closed``.
    """

    name = "fussy"
    kind = "overlay"
    range = Range(best=0, worst=7)
    needs = Needs(labels=("app",), records=("fussy",))
    promises = Promises(per_machine=True)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        full = machines.running > 3
        closed = np.array([labels.get("zone") == "b" for labels in machines.labels], dtype=np.bool_)
        refused = np.tile(full | closed, (shapes.count, 1))
        offset = sum(len(payload) for payload in machines.records.get("fussy", {}).values())
        likes = np.array([len(row.labels.get("app", "")) for row in shapes.rows])
        raw = (likes[:, None] + machines.running + offset) % 7
        allowed = (
            np.ones(raw.shape)
            if shapes.allowed is None
            else np.array(list(shapes.allowed)).reshape(raw.shape)
        )
        return Assessment(
            raw=raw,
            feasible=~refused if refused.any() else None,
            causes=np.tile(np.where(full, 0, 1).astype(np.int16), (shapes.count, 1))
            if refused.any()
            else None,
            reasons=("node(s) were crowded", "node(s) were closed"),
            score=10.0 * raw + allowed,
        )

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:
        return np.full(machines.count, 0.5 * float(request[0]))


def configurations() -> dict[str, tuple[CostModel, ...]]:
    """Base policy and overlays: models that hold per machine, alone, together, and beside others."""
    return {
        "cpu_mem": (load_model("cpu_mem", {}),),
        "only measured use": (
            load_model("cpu_mem", {"availability": "utilisation", "expirationSeconds": 7}),
        ),
        "octopus": (load_model("octopus", {}), Fussy()),
        "random": (load_model("random", {}),),
        "whare_map": (load_model("whare_map", {}), Fussy()),
        "several": (load_model("cpu_mem", {}), Fussy()),
        "a constant": (load_model("sjf", {}), Fussy()),
        "one in full": (load_model("cpu_mem", {}), load_model("load_threshold", {}), Fussy()),
        "with joint rows": (load_model("net", {}), Fussy()),
    }


# --- what happens ---------------------------------------------------------------------------------------------------

machines = st.builds(
    Machine,
    name=st.sampled_from(MACHINES),
    allocatable=st.fixed_dictionaries(
        {"cpu": st.integers(0, 9), "memory": st.integers(2, 9), "pods": st.integers(0, 6)},
        optional={"example.com/gpu": st.integers(0, 2), "network.aware.com/bandwidth": st.integers(0, 5)},
    ),
    labels=st.fixed_dictionaries({}, optional={"zone": st.sampled_from("ab"), "size": st.sampled_from("12")}),
    unschedulable=st.integers(0, 5).map(lambda number: number == 0),
    annotations=st.fixed_dictionaries({}, optional={"firmament.io/network-bandwidth": st.sampled_from("39")}),
)
in_zone = NodeSelectorTerm((Requirement("zone", "In", ("a",)),))
contents = st.builds(
    TaskClass,
    requests=st.fixed_dictionaries(
        {"cpu": st.integers(0, 3), "memory": st.integers(0, 3)},
        optional={"example.com/gpu": st.just(1), "example.com/late": st.just(1)},
    ).map(lambda amounts: tuple(sorted(amounts.items()))),
    node_selector=st.sampled_from([(), (), (), (("zone", "a"),)]),
    preferred=st.sampled_from([(), (), (), (PreferredTerm(30, in_zone),)]),
    labels=st.sampled_from([(), (("app", "web"),), (("app", "db"), ("taskType", "Devil"))]),
    annotations=st.sampled_from([(), (("firmament.io/program", "sort"),)]),
)
classes = st.integers(1, CLASSES)
some_uids = st.tuples(st.integers(0, len(UIDS) - 1), st.integers(1, 5)).map(
    lambda run: UIDS[run[0] : run[0] + run[1]]
)
usage = st.fixed_dictionaries({}, optional={"cpu": st.integers(0, 9).map(float), "memory": st.just(2.0)})
payloads = st.sampled_from(
    [
        "",
        json.dumps(
            {"program": "sort", "machineType": "cpu=4,memory=4", "runtimeSeconds": 2, "instructions": 9}
        ),
        json.dumps({"program": "sort", "machineType": "x", "runtimeSeconds": 1, "instructions": 9}),
    ]
).map(str.encode)


@dataclass(frozen=True)
class Sampled:
    """A report about a machine, made some seconds ago; one about a task."""

    machine: str
    age: float
    interval: float
    usage: dict[str, float]
    uid: str = ""


@dataclass(frozen=True)
class Wait:
    """Time passes, or the clock is set back."""

    seconds: float


@dataclass(frozen=True)
class Resized:
    """A machine has another capacity, and is otherwise as it was."""

    machine: str
    cpu: int


@dataclass(frozen=True)
class Redefine:
    """A number stands for another class; before it others come and go, so many that rows are numbered anew."""

    number: int
    content: TaskClass


ages = st.sampled_from([0.0, 1.0, 5.0, 6.999, 7.0, 100.0, EXPIRATION_SECONDS - 1, EXPIRATION_SECONDS])
reports = st.builds(
    Sampled,
    st.sampled_from(MACHINES),
    ages,
    st.sampled_from([0.0, 30.0]),
    usage,
    st.sampled_from(UIDS),
)
events = st.one_of(
    st.builds(MachineUpserted, machines),
    st.builds(MachineRemoved, st.sampled_from(MACHINES)),
    st.builds(TasksSubmitted, classes, some_uids, priority=st.integers(0, 1)),
    st.builds(TasksSubmitted, classes, some_uids),
    st.builds(TasksBound, st.sampled_from(MACHINES), classes, some_uids),
    st.builds(TaskRemoved, st.sampled_from(UIDS)),
    st.builds(MachineSampleRemoved, st.sampled_from(MACHINES)),
    st.builds(
        RecordUpserted, st.sampled_from([RECORD_KIND, "fussy", "other"]), st.sampled_from("xy"), payloads
    ),
    st.builds(RecordRemoved, st.sampled_from([RECORD_KIND, "fussy"]), st.sampled_from("xy")),
    reports,
    reports,
    reports,
    st.builds(TaskSampled, st.sampled_from(UIDS), st.just(START), usage),
    st.builds(Wait, st.sampled_from([0.0005, 1.0, 2.0, 6.0, 60.0, EXPIRATION_SECONDS, -3.0])),
    st.builds(Resized, st.sampled_from(MACHINES), st.integers(0, 9)),
    st.builds(Redefine, classes, contents),
)
phases = st.tuples(
    st.lists(events, min_size=1, max_size=4),
    st.lists(classes, min_size=1, max_size=3),  # a task of each comes, so that there is a round
    st.lists(events, max_size=2),
)


class Twins:
    """A scheduler that keeps rows and one that does not; everything happens to both, and is compared."""

    def __init__(self, models: Sequence[CostModel]) -> None:
        self.now = START
        weighted = [WeightedModel(model, 1 + number) for number, model in enumerate(models)]
        configuration = CoreConfiguration(
            weighted[0], tuple(weighted[1:]), RoundOptions(reserve_after_rounds=2, reserve_after=0.0)
        )
        self.keeping = KeptRows(most_rounds=3, least_machines=0, asking=0)
        self.both = [
            Scheduler(
                configuration=configuration, solver=OrToolsSolver(), clock=lambda: self.now, kept_rows=kept
            )
            for kept in (self.keeping, KeptRows(most_bytes=0))
        ]

        self.machines: dict[str, Machine] = {}
        self._numbers = count()

    def submit(self, number: int) -> None:
        self.apply(TasksSubmitted(number, (f"more-{next(self._numbers)}",)))

    def apply(self, *given: Event) -> None:
        for scheduler in self.both:
            scheduler.apply(given)

    def happen(self, event: Event | Sampled | Wait | Resized | Redefine) -> None:
        match event:
            case Wait(seconds):
                self.now += seconds
            case Sampled(machine, age, interval, figures, uid):
                self.apply(
                    MachineSampled(machine, self.now - age, figures, interval=interval),
                    TaskSampled(uid, self.now - age, {"cpu": 1.0}),
                )
            case Resized(name, cpu):
                known = self.machines.get(name)
                if known is not None:
                    self.happen(
                        MachineUpserted(replace(known, allocatable={**known.allocatable, "cpu": cpu}))
                    )
            case MachineUpserted(described):
                self.machines[described.name] = described
                self.apply(event)
            case Redefine(number, content):
                self.redefine(number, content)
            case _:
                self.apply(event)

    def redefine(self, number: int, content: TaskClass) -> None:
        others = range(CLASSES + 1, CLASSES + 1 + PASSING)
        self.apply(*(ClassDefined(each, TaskClass(requests=(("cpu", each),))) for each in others))
        self.apply(ClassRemoved(number), ClassDefined(number, content))
        self.apply(*map(ClassRemoved, others))

    def round(self, meanwhile: Sequence[Event | Sampled | Wait | Resized | Redefine]) -> None:
        opened = [scheduler.open_round() for scheduler in self.both]
        first, second = (each.snapshot for each in opened)
        assert (first is None) == (second is None)
        if first is not None and second is not None:
            compare(first, second)
        placements = [each.solve() for each in opened]
        for event in meanwhile:
            self.happen(event)
        results = [
            scheduler.close_round(each, placement)
            for scheduler, each, placement in zip(self.both, opened, placements, strict=True)
        ]
        for name in ("deltas", "unscheduled", "gangs", "notes"):
            assert getattr(results[0], name) == getattr(results[1], name)
        bound = results[0].deltas[: len(results[0].deltas) // 2]
        for scheduler in self.both:
            scheduler.report([BindingReport(delta.uid, delta.machine, bound=True) for delta in bound])


def compare(kept: Snapshot, anew: Snapshot) -> None:
    """Whole snapshots, bit for bit."""
    for name in ("counts", "priority", "shape", "requests", "feasible", "cost", "crowd", "free"):
        ours, theirs = getattr(kept.problem, name), getattr(anew.problem, name)
        assert ours.dtype == theirs.dtype, name
        assert np.array_equal(ours, theirs), name
    assert kept.members[0].tolist() == anew.members[0].tolist()
    size = kept.problem.cost.shape
    for ours, theirs in zip(kept.assessed.assessments, anew.assessed.assessments, strict=True):
        assert ours.raw.dtype == theirs.raw.dtype
        assert np.array_equal(ours.raw, theirs.raw)
        assert (ours.score is None) == (theirs.score is None)
        if ours.score is not None and theirs.score is not None:
            assert np.array_equal(ours.score, theirs.score)
        for shape in range(size[0]):
            assert {r: m.tolist() for r, m in ours.refusals(shape) if m.any()} == {
                r: m.tolist() for r, m in theirs.refusals(shape) if m.any()
            }


@pytest.mark.parametrize("name", configurations())
@settings(max_examples=examples(25, 2, slow=True))
@given(
    st.lists(machines, min_size=4, max_size=6),
    st.lists(contents, min_size=CLASSES, max_size=CLASSES),
    st.lists(phases, min_size=3, max_size=9),
)
def test_what_is_kept_changes_nothing(name, beginning, kinds, history):
    twins = Twins(configurations()[name])
    twins.apply(*(ClassDefined(number, content) for number, content in enumerate(kinds, 1)))
    for described in beginning:
        twins.happen(MachineUpserted(described))
    for number in range(1, CLASSES + 1):
        twins.submit(number)
    for before, waiting, meanwhile in history:
        for event in before:
            twins.happen(event)
        for number in waiting:
            twins.submit(number)
        twins.round(meanwhile)
