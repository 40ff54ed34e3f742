"""Placements on a machine whose kubelet aligns go out in order, and are decided anew if something came in between."""

from __future__ import annotations

from cost_models.numa.numa_fit import NumaFit
from firmament.core.configuration import WeightedModel
from firmament.core.events import BindingReport, ClassDefined, TasksBound
from firmament.core.model import TaskClass
from tests.cost_models.numa.builders import asks, machine_events, payload, task_class, zone
from tests.support.core import GIB, placed, scheduler, tasks

ALIGNED = payload(zone(0, {"cpu": 4000}), zone(1, {"cpu": 4000}))
ONE = task_class(asks("c", cpu=1000))
WHOLE = task_class(asks("c", cpu=4000))


def started(*events, record=ALIGNED):
    overlays = [WeightedModel(NumaFit())]
    return scheduler(machine_events("m", record, cpu=8000, memory=GIB), *events, overlays=overlays)


def test_each_placement_depends_on_the_one_before_it():
    result = started(tasks(1, "a", "b", "c", content=ONE)).run_round()
    assert [delta.depends_on for delta in result.deltas] == [(), ("a",), ("b",)]


def test_the_first_depends_on_what_an_earlier_round_placed_until_that_is_bound():
    made = started(tasks(1, "a", content=ONE))
    made.run_round()
    made.apply(tasks(1, "b", content=ONE))
    assert [delta.depends_on for delta in made.run_round().deltas] == [("a",)]
    made.report([BindingReport("a", "m", bound=True), BindingReport("b", "m", bound=True)])
    made.apply(tasks(1, "c", content=ONE))
    assert [delta.depends_on for delta in made.run_round().deltas] == [()]


def test_machines_that_do_not_align_are_not_chained():
    record = payload(zone(0, {"cpu": 4000}), policy="none")
    result = started(tasks(1, "a", "b", content=ONE), record=record).run_round()
    assert [delta.depends_on for delta in result.deltas] == [(), ()]


def test_a_task_that_came_to_the_machine_meanwhile_sends_placements_back():
    made = started(tasks(1, "a", "b", content=WHOLE))
    opened = made.open_round()
    other = TaskClass(requests=(("cpu", 1000),))
    made.apply([*tasks(2, content=other)[:1], TasksBound("m", 2, ("theirs",))])
    result = made.close_round(opened, opened.solve())
    assert placed(result) == {}
    again = made.run_round()  # theirs took a part of the first zone, so only one zone is left whole
    assert len(placed(again)) == 1


def test_a_record_that_came_meanwhile_sends_placements_back():
    made = started(tasks(1, "a", content=WHOLE))
    opened = made.open_round()
    full = payload(zone(0, {"cpu": 1000}), zone(1, {"cpu": 2000}))
    made.apply(machine_events("m", full, cpu=8000, memory=GIB)[1:])
    assert placed(made.close_round(opened, opened.solve())) == {}
    assert placed(made.run_round()) == {}


def test_times_decide_what_a_record_counts_if_they_are_known():
    late = payload(zone(0, {"cpu": 4000}), zone(1, {"cpu": 4000}), updated=100.0)
    made = started(tasks(1, "old", content=ONE)[:1], tasks(2, content=WHOLE)[:1])
    made.apply([TasksBound("m", 2, ("old", "new"), assigned=(50.0, 150.0))])
    made.apply(machine_events("m", late, cpu=16_000, memory=GIB))
    made.apply(tasks(2, "x", "y", content=WHOLE))
    assert len(placed(made.run_round())) == 1  # one zone is taken by what the record does not count


def test_a_driver_that_knows_says_which_tasks_are_missing():
    made = started(tasks(1, content=WHOLE)[:1])
    made.apply([TasksBound("m", 1, ("counted", "missing"))])
    record = payload(zone(0, {"cpu": 4000}), zone(1, {"cpu": 4000}), missing=["missing"])
    made.apply(machine_events("m", record, cpu=16_000, memory=GIB))
    made.apply(tasks(1, "x", "y", content=WHOLE))
    assert len(placed(made.run_round())) == 1


def test_a_record_wakes_what_waits_for_its_machine():
    full = payload(zone(0, {"cpu": 1000}))
    made = started(tasks(1, "a", content=WHOLE), record=full)
    assert placed(made.run_round()) == {}
    made.apply(machine_events("elsewhere", full, cpu=1000, memory=GIB)[1:])
    assert made.next_round_in() is None
    made.apply(machine_events("m", ALIGNED, cpu=8000, memory=GIB)[1:])
    assert placed(made.run_round()) == {"a": "m"}


def test_the_first_record_of_all_that_came_meanwhile_sends_placements_back():
    machine, record = machine_events("m", payload(zone(0, {"cpu": 1000})), cpu=8000, memory=GIB)
    made = scheduler(machine, tasks(1, "a", content=WHOLE), overlays=[WeightedModel(NumaFit())])
    opened = made.open_round()
    made.apply([record])
    assert placed(made.close_round(opened, opened.solve())) == {}
    assert placed(made.run_round()) == {}


def test_the_first_record_of_another_machine_keeps_no_placement_back():
    machine, _ = machine_events("m", ALIGNED, cpu=8000, memory=GIB)
    small, record = machine_events("n", payload(zone(0, {"cpu": 1000})), cpu=100, memory=GIB)
    made = scheduler(machine, small, tasks(1, "a", content=WHOLE), overlays=[WeightedModel(NumaFit())])
    opened = made.open_round()
    made.apply([record])
    assert placed(made.close_round(opened, opened.solve())) == {"a": "m"}


def test_the_first_record_of_all_that_came_meanwhile_lets_nobody_be_evicted_in_vain():
    machine, record = machine_events("m", payload(zone(0, {"cpu": 1000})), cpu=8000, memory=GIB)
    class_, bound = ClassDefined(2, TaskClass(requests=(("cpu", 8000),))), TasksBound("m", 2, ("low",))
    wanted = tasks(1, "high", content=WHOLE, priority=10)
    made = scheduler(machine, class_, bound, wanted, overlays=[WeightedModel(NumaFit())])
    opened = made.open_round()
    placement = opened.solve()
    assert placement.evictions
    made.apply([record])
    assert made.close_round(opened, placement).deltas == ()
    assert made.run_round().deltas == ()
