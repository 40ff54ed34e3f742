"""What is kept between rounds, for how long, and what models are asked about because of it."""

from __future__ import annotations

import numpy as np
import pytest

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
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import (
    ClassDefined,
    ClassRemoved,
    MachineRemoved,
    MachineSampled,
    MachineSampleRemoved,
    RecordUpserted,
    TaskRemoved,
    TaskSampled,
    TasksBound,
    TasksSubmitted,
    TaskUses,
)
from firmament.core.scheduler import Scheduler
from firmament.core.scoring.kept_rows import KeptRows, scatter, take_over
from firmament.core.state.classes import LEAST_SURPLUS
from firmament.core.state.machines import RowStamps
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import START, Clock, machine, task_class
from tests.support.models import Stated

MACHINES = 20


class Asked(BaseModel):
    """Charges for cpu, and writes down what it is asked about: (requests of cpu, names of machines)."""

    name = "asked"
    kind = "policy"
    range = Range(best=0, worst=1000)
    needs = Needs(unseen=True, records=("asked",))
    promises = Promises(per_machine=True)

    def __init__(self) -> None:
        self.about: list[tuple[list[int], list[str]]] = []

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        self.about.append((shapes.requests[:, 1].tolist(), list(machines.names)))
        raw = np.tile(shapes.requests[:, 1:2].astype(np.int16), (1, machines.count))
        return Assessment(raw=raw)

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:
        return np.full(machines.count, float(request[0]))

    def take(self) -> list[tuple[list[int], list[str]]]:
        about, self.about = self.about, []
        return about


class Setting:
    """A cluster of twenty machines with three classes, of 100, 200 and 300 milli-cores."""

    def __init__(self, overlay: CostModel | None = None, model: Asked | None = None, **limits: int) -> None:
        self.model, self.clock, self._count = model or Asked(), Clock(), 0
        self.kept = KeptRows(**{"least_machines": 0, "asking": 0, **limits})
        self.scheduler = Scheduler(
            configuration=CoreConfiguration(
                WeightedModel(self.model), () if overlay is None else (WeightedModel(overlay),)
            ),
            solver=OrToolsSolver(),
            clock=self.clock,
            kept_rows=self.kept,
        )
        self.scheduler.apply([machine(f"m{index:02}") for index in range(MACHINES)])
        self.scheduler.apply([ClassDefined(number, task_class(100 * number)) for number in (1, 2, 3)])

    def round(self, *classes: int) -> list[tuple[list[int], list[str]]]:
        """Place a task of each class; returns what the model was asked about."""
        for cls in classes:
            self._count += 1
            self.scheduler.apply([TasksSubmitted(cls, (f"t{self._count}",))])
        placed = self.scheduler.run_round().deltas
        assert len(placed) == len(classes)
        self.where = [delta.machine for delta in placed]
        return self.model.take()


EVERY = [f"m{index:02}" for index in range(MACHINES)]


def test_models_are_asked_about_changed_machines_and_new_shapes():
    setting = Setting()
    assert setting.round(1) == [([100], EVERY)]
    used = setting.where
    assert setting.round(1, 2) == [([200], EVERY), ([100], used)]
    used = setting.where
    assert setting.round(3) == [([300], EVERY)]
    used += setting.where
    setting.scheduler.apply([machine("m07", cpu=9000), TaskRemoved("nobody")])
    assert setting.round(1) == [([100], sorted({*used, "m07"}))]


def test_nothing_is_asked_while_nothing_changes():
    setting = Setting()
    setting.scheduler.apply([TasksSubmitted(1, ("t",))])
    for _ in range(3):
        setting.scheduler.open_round()  # and never closed
    assert setting.model.take() == [([100], EVERY)]


def test_a_machine_that_goes_moves_another_one_into_its_row():
    setting = Setting()
    setting.round(1)
    used = set(setting.where)
    setting.scheduler.apply([MachineRemoved("m03"), machine("new")])
    ((_, about),) = setting.round(1)
    assert set(about) == used - {"m03"} | {"m19", "new"}


def test_reports_are_changes_and_so_is_that_there_are_none_any_more():
    setting = Setting()
    setting.round(1)
    for event in (MachineSampled("m05", setting.clock.now, {"cpu": 1.0}), MachineSampleRemoved("m05")):
        used = set(setting.where)
        setting.scheduler.apply([event])
        ((_, about),) = setting.round(1)
        assert set(about) == used | {"m05"}


def test_a_report_of_a_task_changes_what_that_of_its_machine_cannot_show():
    setting, now = Setting(), START
    setting.scheduler.apply(
        [
            TasksBound("m05", 2, ("t",), assigned=(now,)),
            MachineSampled("m05", now, {"cpu": 50.0}, tasks=TaskUses(("t",), ("cpu",), (50.0,))),
        ]
    )
    setting.round(1)
    used = set(setting.where)
    setting.scheduler.apply([TaskSampled("t", now, {"cpu": 80.0})])
    ((_, about),) = setting.round(1)
    assert set(about) == used | {"m05"}


def test_rows_follow_their_shapes_when_these_get_other_numbers():
    setting = Setting()
    passing = range(10, 10 + LEAST_SURPLUS)
    setting.scheduler.apply([ClassDefined(number, task_class(number)) for number in passing])
    setting.scheduler.apply([ClassDefined(4, task_class(400)), ClassDefined(5, task_class(500))])
    setting.round(4, 5)
    setting.scheduler.apply([ClassRemoved(number) for number in passing])
    setting.scheduler.apply([TasksSubmitted(5, ("t",)), TasksSubmitted(4, ("u",))])
    snapshot = setting.scheduler.open_round().snapshot
    assert snapshot is not None
    assert all(len(names) < MACHINES for _, names in setting.model.take())
    raw = snapshot.assessed.assessments[0].raw
    assert raw.tolist() == [[amount] * MACHINES for amount in snapshot.problem.requests[:, 1].tolist()]
    assert sorted(raw[:, 0].tolist()) == [400, 500]


@pytest.mark.parametrize("what", ["record", "resource", "clock"])
def test_what_may_change_all_answers_has_all_asked_again(what: str):
    setting = Setting()
    setting.round(1)
    if what == "record":
        setting.scheduler.apply([RecordUpserted("other", "x", b"")])
        assert len(setting.round(1)[0][1]) < MACHINES
        setting.scheduler.apply([RecordUpserted("asked", "x", b"")])
    elif what == "resource":
        setting.scheduler.apply([ClassDefined(4, task_class(100, annotations=(("new", "1"),)))])
        assert len(setting.round(1)[0][1]) < MACHINES
        setting.scheduler.apply([machine("m01", extended={"example.com/gpu": 2})])
    else:
        setting.clock.advance(-1.0)
    assert setting.round(1) == [([100], EVERY)]


@pytest.mark.parametrize("width", [1, MACHINES])
def test_costs_follow_models_that_promise_nothing(width: int):
    figures = [3.0]
    setting = Setting(Stated(lambda _, shapes: Assessment(raw=np.full((shapes.count, width), figures[0]))))
    for figure in (3.0, 8.0, 8.0, 5.0):
        figures[0] = figure
        setting.scheduler.apply([TasksSubmitted(2, (f"t{figure}",))])
        snapshot = setting.scheduler.open_round().snapshot
        assert snapshot is not None
        assert snapshot.problem.cost.tolist() == [
            [2000 + 100 * int(figure)] * MACHINES
        ]  # 20 points, and these
    assert len(setting.model.take()) == 1


def test_rows_that_no_round_uses_are_dropped():
    setting = Setting(most_rounds=2)
    setting.round(1)
    setting.round(2)
    assert len(setting.round(1)[0][1]) < MACHINES  # kept over one round without it
    setting.round(2)
    setting.round(3)
    assert setting.round(1) == [([100], EVERY)]


def test_memory_has_a_limit():
    row = MACHINES * (2 + 4)  # figures of 16 bits, units of 32
    setting = Setting(most_bytes=2 * row)
    setting.round(1, 2)
    assert setting.kept.nbytes == 2 * row
    assert all(len(names) < MACHINES for _, names in setting.round(1, 2))
    setting.round(1, 2, 3)
    assert setting.kept.nbytes == 0  # too much to be kept
    assert setting.round(1) == [([100], EVERY)]
    setting.round(2)
    setting.round(3)
    assert setting.kept.nbytes == 2 * row
    assert setting.round(1) == [([100], EVERY)]


def test_a_cluster_that_rests_keeps_nothing_and_decides_the_same():
    setting, other = Setting(), Setting()
    for each in (setting, other):
        each.round(1, 2)
    assert setting.kept.nbytes
    setting.scheduler.free_memory()
    assert setting.kept.nbytes == 0
    asked = setting.round(2, 3)
    assert [names for _, names in asked] == [EVERY]
    other.round(2, 3)
    assert setting.where == other.where


@pytest.mark.parametrize("limits", [{"most_bytes": 0}, {"least_machines": MACHINES + 1}])
def test_nothing_is_kept_where_that_is_told(limits: dict[str, int]):
    setting = Setting(None, None, **limits)
    assert [setting.round(1) for _ in range(3)] == [[([100], EVERY)]] * 3
    assert setting.kept.nbytes == 0


def test_many_changes_have_everything_asked_at_once():
    setting = Setting()
    setting.round(1)
    setting.scheduler.apply([machine(name, cpu=8000) for name in EVERY])
    assert setting.round(1, 2) == [([100, 200], EVERY)]


def test_stamps_tell_what_has_changed_since():
    stamps = RowStamps()
    for row in range(100):
        stamps.touch(row)
    first = stamps.mark()
    assert not (stamps.stamps(100) > first).any()
    stamps.touch_all(np.array([3, 70]))
    second = stamps.mark()
    stamps.touch(5)
    assert np.flatnonzero(stamps.stamps(100) > first).tolist() == [3, 5, 70]
    assert np.flatnonzero(stamps.stamps(100) > second).tolist() == [5]
    assert (stamps.stamps(100) > 0).all()


class Expiring(Asked):
    """Its answers about the first machines may change a minute after each is given."""

    promises = Promises(per_machine=True, expires=True)

    def lasts_until(self, machines: MachineColumns) -> Float64:
        return np.where(np.arange(machines.count) < 2, machines.now + 60.0, np.inf)


def test_answers_that_expire_are_asked_for_again_and_others_are_not():
    setting = Setting(model=Expiring())
    setting.round(1)
    used = setting.where
    setting.clock.advance(59.0)
    assert setting.round(1) == [([100], used)]
    used = setting.where
    setting.clock.advance(60.0)
    assert setting.round(1) == [([100], sorted({"m00", "m01", *used}))], "at this very moment"


@pytest.mark.parametrize(
    ("rows", "kept", "wanted"),
    [
        ([1], [[1, 2, 3], [4, 5, 6]], [[0, 0, 0], [4, 5, 6]]),
        ([0], [[1, 2], [4, 5]], [[0, 0, 0], [1, 2, 0]]),  # a machine has come
        ([0], [[1, 2, 3, 4]], [[0, 0, 0], [1, 2, 3]]),  # a machine has gone
        ([0], None, [[0, 0, 0], [7, 7, 7]]),  # an array that the cached rows do not have
    ],
)
def test_cached_rows_are_copied_for_the_machines_of_both(
    rows: list[int], kept: list[list[int]] | None, wanted: list[list[int]]
):
    whole = np.zeros((2, 3), dtype=np.int64)
    take_over(whole, np.array([1]), None if kept is None else np.array(kept), np.array(rows), 7)
    assert whole.tolist() == wanted


def test_new_figures_go_to_their_rows_and_machines():
    whole = np.zeros((3, 3), dtype=np.int64)
    scatter(whole, np.array([2, 0]), np.array([0, 2]), np.array([[1, 2], [3, 4]]))
    assert whole.tolist() == [[3, 0, 4], [0, 0, 0], [1, 0, 2]]
    scatter(whole, np.array([1]), np.array([1, 2]), np.array(9))
    assert whole.tolist() == [[3, 0, 4], [0, 9, 9], [1, 0, 2]]


def test_rows_are_cached_from_the_least_number_of_machines_on():
    setting = Setting(least_machines=MACHINES)
    setting.round(1)
    assert len(setting.round(1)[0][1]) < MACHINES


def test_answers_of_models_that_promise_nothing_are_not_cached():
    class Changing(Asked):
        promises = Promises()

    setting = Setting(model=Changing())
    assert [setting.round(1) for _ in range(3)] == [[([100], EVERY)]] * 3
    assert setting.kept.nbytes == 0
