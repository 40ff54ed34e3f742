"""Which tasks are thought of first: those that cool a hot machine, and those whose going makes room."""

from __future__ import annotations

import numpy as np
import pytest

from cost_models.interface import Int64
from cost_models.load_aware.load_threshold import LoadThreshold
from firmament.core.configuration import WeightedModel
from firmament.core.events import (
    ClassDefined,
    Event,
    MachineSampled,
    TasksBound,
    TaskUses,
)
from firmament.core.rescheduling.hot_machines import ReliefMove, _MeasuredUse
from firmament.core.rescheduling.room_bound import may_fit
from firmament.core.rescheduling.room_by_moves import _lacking, _list_choices, _slot_choices, count_slots
from firmament.core.rescheduling.trials import Trials
from firmament.core.scheduler import Scheduler
from tests.firmament.core.rescheduling.test_hot_machines import NOW
from tests.support.core import Clock, machine, scheduler, task_class
from tests.support.rules import ints


class TestHotMachines:
    """Machines of 1000 of cpu and memory each, of which 50 % of cpu and 80 % of memory are to be used at most."""

    USES = {  # noqa: RUF012 (never changed)
        "a": {"t1": (300.0, 100.0), "t2": (200.0, 0.0), "t3": (50.0, 10.0), "t4": (0.0, 5.0)},
        "b": {"u1": (100.0, 700.0), "u2": (0.0, 200.0)},
        "c": {},
    }

    def measured(self, *movable: str, thresholds: dict[str, float] | None = None) -> _MeasuredUse:
        events: list[Event] = [
            *(machine(name, cpu=1000, memory=1000) for name in ("c", "a", "b", "d")),
            ClassDefined(1, task_class(10)),
        ]
        for name, tasks in self.USES.items():
            events.append(TasksBound(name, 1, tuple(tasks), assigned=(1.0,) * len(tasks)))
            stated = tuple(amount for use in tasks.values() for amount in use)
            uses = TaskUses(tuple(tasks), ("cpu", "memory"), stated, ())
            total = {"cpu": sum(stated[::2]), "memory": sum(stated[1::2])}
            events.append(MachineSampled(name, NOW - 5, total, interval=60.0, tasks=uses))
        overlay = WeightedModel(LoadThreshold(usageThresholds={"cpu": 95}), 1)
        made: Scheduler = scheduler(*events, overlays=(overlay,), clock=Clock(NOW))
        every = [uid for tasks in self.USES.values() for uid in tasks]
        return _MeasuredUse(made, movable or every, thresholds or {"cpu": 50.0, "memory": 80.0})

    def names(self, book: _MeasuredUse) -> list[str]:
        return [book.names[row] for row in book.hot()]

    def test_the_hottest_comes_first_and_those_without_reports_are_cold(self):
        assert self.names(self.measured()) == ["b", "a"]
        assert self.names(self.measured(thresholds={"cpu": 50.0})) == ["a"]
        assert self.names(self.measured(thresholds={"cpu": 10.0})) == ["a"], "as much is not more"
        assert self.names(self.measured(thresholds={"cpu": 9.9})) == ["a", "b"]
        assert self.names(self.measured(thresholds={"gpu": 1.0})) == []

    def test_tasks_that_are_enough_come_first_the_smallest_of_them_then_the_largest_others(self):
        book = self.measured()
        a, b = book.row["a"], book.row["b"]
        assert book.tasks(a) == ["t3", "t2", "t1"], "it is 50 above"
        assert book.tasks(b) == ["u2", "u1"], "it is 100 above, of memory alone"
        less = self.measured(thresholds={"cpu": 10.0})
        assert less.tasks(less.row["a"]) == ["t1", "t2", "t3"], "nobody is enough"
        assert self.measured("t2").tasks(a) == ["t2"]

    def test_a_task_that_frees_nothing_of_one_resource_is_no_help(self):
        book = self.measured(thresholds={"cpu": 5.0, "memory": 80.0})
        assert book.tasks(book.row["b"]) == ["u1"]

    @pytest.mark.parametrize(
        ("target", "uid", "expected"), [("c", "t1", True), ("b", "t3", False), ("d", "t3", False)]
    )
    def test_room_by_measured_use(self, target: str, uid: str, expected: bool):
        assert self.measured().has_room(target, uid) is expected

    def test_a_machine_may_be_filled_up_to_its_threshold(self):
        assert self.measured(thresholds={"cpu": 30.0}).has_room("c", "t1")
        assert not self.measured(thresholds={"cpu": 29.9}).has_room("c", "t1")

    def test_moves_are_noted(self):
        book = self.measured()
        book.note(ReliefMove("t1", "a", "c"))
        assert self.names(book) == ["b"]
        assert book.use[book.row["c"]].tolist() == [300.0, 100.0]
        assert book.use[book.row["a"]].tolist() == [250.0, 15.0]
        assert "t1" not in book.task_use


def trials(*tasks: tuple[str, str, int, int], room: tuple[int, int] = (10, 10)) -> Trials:
    """Machines a and b of 10 each; tasks by uid, machine, cpu and memory."""
    sizes = sorted({(cpu, memory) for _, _, cpu, memory in tasks})
    events: list[Event] = [machine(name, cpu=room[0], memory=room[1]) for name in ("a", "b")]
    events += [ClassDefined(number, task_class(*size)) for number, size in enumerate(sizes)]
    events += [TasksBound(where, sizes.index((cpu, memory)), (uid,)) for uid, where, cpu, memory in tasks]
    made = scheduler(*events)
    return Trials(made, events, ())


def wants(cpu: int, memory: int = 0) -> Int64:
    return ints(cpu, memory, 1)


class TestRoom:
    def choices(self, wanted: Int64, *tasks: tuple[str, str, int, int]) -> dict[str, tuple[str, ...]]:
        return dict(_list_choices(trials(*tasks), wanted, ["a", "b"]))

    def test_what_is_lacking(self):
        made = trials(("x", "a", 7, 2))
        assert _lacking(made, wants(4, 8), "a").tolist() == [1, 0, 0]
        assert _lacking(made, wants(3, 9), "a").tolist() == [0, 1, 0]
        assert _lacking(made, wants(3, 8), "b").tolist() == [0, 0, 0]

    def test_the_smallest_task_that_is_enough_goes(self):
        assert self.choices(wants(4), ("x", "a", 3, 0), ("y", "a", 4, 0), ("z", "a", 1, 0)) == {"a": ("x",)}
        assert self.choices(wants(6), ("x", "a", 3, 0), ("y", "a", 4, 0), ("z", "a", 1, 0)) == {"a": ("y",)}

    def test_several_go_the_largest_first_if_one_is_not_enough(self):
        assert self.choices(wants(8), ("x", "a", 3, 0), ("y", "a", 4, 0), ("z", "a", 1, 0)) == {
            "a": ("y", "x")
        }
        assert self.choices(wants(11), ("x", "a", 3, 0), ("y", "a", 4, 0)) == {}

    def test_every_resource_that_is_lacking_counts(self):
        tasks = ("x", "a", 6, 1), ("y", "a", 1, 6), ("z", "a", 2, 2)
        assert self.choices(wants(2, 5), *tasks) == {"a": ("y",)}
        assert self.choices(wants(7, 7), *tasks) == {"a": ("y", "x")}


class TestSlots:
    @pytest.mark.parametrize(
        ("free", "member", "slots"),
        [
            ((7, 9), (2, 3), 3),
            ((7, 8), (2, 3), 2),
            ((-1, 9), (2, 0), 0),
            ((7, -4), (2, 0), 3),
            ((1, 1), (0, 0), 2**31),
        ],
    )
    def test_how_many_fit(self, free: tuple[int, int], member: tuple[int, int], slots: int):
        assert count_slots(ints(*free), ints(*member)) == slots

    def slots(
        self, wanted: int, member: Int64, *tasks: tuple[str, str, int, int]
    ) -> list[tuple[int, tuple[str, ...]]]:
        found = _slot_choices(trials(*tasks), "a", member, wanted)
        return [(each.slots, each.moving) for each in found]

    def test_present_slots_and_those_that_tasks_free_the_largest_first(self):
        tasks = ("x", "a", 2, 0), ("y", "a", 4, 0), ("z", "a", 1, 0)
        assert self.slots(9, wants(3), *tasks) == [(1, ()), (2, ("y",)), (3, ("y", "x"))]
        assert self.slots(2, wants(3), *tasks) == [(1, ()), (2, ("y",))]
        assert self.slots(1, wants(3), *tasks) == [(1, ())]
        larger = ("x", "a", 2, 0), ("y", "a", 5, 0), ("z", "a", 1, 0)
        assert self.slots(9, wants(4), *larger) == [(1, ("y",)), (2, ("y", "x"))]
        assert self.slots(9, wants(11), *tasks) == []


class TestBound:
    def fits(self, free: list[int], *classes: tuple[int, int, list[bool]]) -> bool:
        """Classes by request, number, and the machines that they are open to."""
        return may_fit(
            np.array(free, dtype=np.int64)[:, None],
            np.array([[request] for request, *_ in classes], dtype=np.int64).reshape(-1, 1),
            ints(*(count for _, count, _ in classes)),
            np.arange(len(classes)),
            [np.array(each) for *_, each in classes],
        )

    @pytest.mark.parametrize(("free", "expected"), [([7], True), ([6], False)])
    def test_the_sum_of_all_requests_must_fit(self, free: list[int], expected: bool):
        assert self.fits(free, (3, 1, [True]), (4, 1, [True])) is expected

    @pytest.mark.parametrize(("free", "expected"), [([3, 3], True), ([4, 2], False), ([4, 3], True)])
    def test_tasks_must_fit_whole(self, free: list[int], expected: bool):
        assert self.fits(free, (3, 2, [True, True])) is expected

    def test_those_that_are_larger_or_confined_further_compete(self):
        both, first = [True, True], [True, False]
        assert not self.fits([4, 9], (2, 2, first), (4, 1, first))
        assert self.fits([4, 9], (2, 2, first), (4, 1, both))
        assert not self.fits([4, 1], (2, 2, first), (2, 1, both))
        assert self.fits([4, 2], (2, 2, first), (2, 1, both))

    def test_who_asks_for_nothing_fits(self):
        assert self.fits([0], (0, 9, [True]))
        assert self.fits([0])
