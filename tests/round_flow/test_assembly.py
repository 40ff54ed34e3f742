"""What is told of a round's flow, by figures worked out by hand."""

from __future__ import annotations

from firmament.core.model import Taint
from firmament.core.round_flow.assembly import RoundFlow, first_tasks, snapshot_flow
from firmament.core.scheduler import Scheduler
from tests.support.core import machine, scheduler, task_class, tasks, uids


def flow_of(found: Scheduler, *, with_tasks: bool = True) -> RoundFlow:
    opened = found.open_round()
    placement = opened.solve()
    found.close_round(opened, placement)
    assert opened.snapshot is not None
    words = found.class_words(first_tasks(opened.snapshot))
    return snapshot_flow(opened.snapshot, placement, words, with_tasks=with_tasks)


def test_who_went_where_and_what_kept_the_others_away():
    found = scheduler(
        machine("m1", cpu=200),
        machine("m2", cpu=1000, taints=[Taint("dedicated", "batch", "NoSchedule")]),
        machine("m3", cpu=50),
        tasks(1, *uids("a", 3), content=task_class(cpu=100, namespace="shop"), priority=7),
    )
    flow = flow_of(found)
    (told,) = flow.classes
    assert (told.name, told.namespace, told.priority, told.tasks, told.placed) == ("a-0", "shop", 7, 3, 2)
    assert told.refusals == (("Insufficient cpu", 1), ("node(s) had untolerated taint(s)", 1))
    assert (told.open, dict(told.requests)) == (1, {"cpu": 100, "pods": 1})
    assert told.price is not None
    assert flow.machines == ("m1", "m2", "m3")
    assert (flow.cls.tolist(), flow.machine.tolist(), flow.count.tolist()) == ([0], [0], [2])
    assert flow.uids == ["a-0", "a-1"]
    assert flow.models == ("cpu_mem", "kubernetes")
    assert flow.model_cost.sum(axis=0).round(2).tolist() == flow.cost.tolist()
    assert flow.machine_saturated.tolist() == [True, False, False]  # m2 is for others, m3 too small for any
    assert flow.machine_room.tolist() == [0, 10, 0]
    assert flow.machine_price[0] > 0  # the third waits
    assert flow.machine_price[1:].tolist() == [0, 0]


def test_uids_stand_arc_by_arc_as_the_tasks_were_placed():
    found = scheduler(
        *(machine(f"m{number}", cpu=300) for number in range(4)),
        tasks(1, *uids("a", 5)),
        tasks(2, *uids("b", 4), content=task_class(cpu=150)),
    )
    opened = found.open_round()
    placement = opened.solve()
    result = found.close_round(opened, placement)
    assert opened.snapshot is not None
    flow = snapshot_flow(
        opened.snapshot, placement, found.class_words(first_tasks(opened.snapshot)), with_tasks=True
    )
    told = [
        flow.machines[machine]
        for machine, count in zip(flow.machine.tolist(), flow.count.tolist(), strict=True)
        for _ in range(count)
    ]
    assert dict(zip(flow.uids, told, strict=True)) == {each.uid: each.machine for each in result.deltas}
    assert flow.uids[:1] == ["a-0"]


def test_a_task_that_has_gone_is_told_by_its_uid():
    found = scheduler(machine("m1"), tasks(1, "a"))
    assert found.class_words(["a", "gone"])[1].name == "gone"


def test_uids_are_left_out_unless_they_are_asked_for():
    assert flow_of(scheduler(machine("m1"), tasks(1, "a")), with_tasks=False).uids == ()
