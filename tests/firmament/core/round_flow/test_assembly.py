"""What is told of a round's flow, by figures worked out by hand."""

from __future__ import annotations

from firmament.core.events import ClassDefined, JobDefined, TasksSubmitted
from firmament.core.model import Job, Taint, TaskClass
from firmament.core.round_flow.assembly import RoundFlow, first_tasks, snapshot_flow
from firmament.core.scheduler import Scheduler
from tests.support.core import machine, scheduler, task_class, tasks, uids
from tests.support.rules import near


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


def kept_back(found: Scheduler) -> dict[str, list[tuple[str, int]]]:
    """By the class's first word."""
    return {each.name.partition("-")[0]: list(each.kept_back) for each in flow_of(found).classes}


def test_those_that_wait_are_told_what_kept_them_off_when_the_round_had_ended():
    tainted = [Taint("dedicated", "batch", "NoSchedule")]
    found = scheduler(
        *(machine(f"m{number}", cpu=1000, labels={"host": f"m{number}"}) for number in range(2)),
        *(machine(f"t{number}", taints=tainted, labels={"host": f"t{number}"}) for number in range(5)),
        machine("off", cordoned=True, labels={"host": "off"}),
        tasks(
            1, *uids("apart", 4), content=task_class(labels=(("app", "a"),), anti_affinity=near("a", "host"))
        ),
        tasks(2, *uids("fits", 3), priority=5),
        tasks(3, *uids("huge", 2), content=task_class(cpu=3000)),
    )
    told = kept_back(found)
    assert told["fits"] == []
    # Two of them are placed, and keep the others off both machines that were open: not the taints of five.
    assert told["apart"] == [
        ("node(s) didn't match pod anti-affinity rules", 2),
        ("node(s) had untolerated taint(s)", 5),
        ("node(s) were unschedulable", 1),
    ]
    # No machine was ever open to these: the two without taints come nearest.
    assert told["huge"][0] == ("Insufficient cpu", 2)


def test_what_others_have_taken_in_the_round_comes_first():
    found = scheduler(
        machine("m1", cpu=300),
        *(machine(f"small{number}", cpu=10) for number in range(4)),
        machine("m2", labels={"disk": "tape"}, cordoned=True),
        tasks(1, *uids("a", 5)),
    )
    assert kept_back(found)["a"] == [("Insufficient cpu", 5), ("node(s) were unschedulable", 1)]


def test_what_most_machines_lack_is_not_why_a_task_waits_if_they_lack_more():
    """Two machines have GPUs, which the round gives away, and room for more; the others have neither any more."""
    found = scheduler(
        *(machine(f"gpu{number}", extended={"gpu": 1}) for number in range(2)),
        *(machine(f"m{number}", cpu=1000) for number in range(6)),
        tasks(1, *uids("filler", 6), content=task_class(cpu=1000)),
        tasks(2, *uids("train", 4), content=TaskClass(requests=(("cpu", 500), ("gpu", 1)))),
    )
    assert kept_back(found)["train"][0] == ("Insufficient gpu", 8)
    # The next round begins without a machine that is open; the nearest lack nothing but GPUs.
    found.apply(tasks(3, *uids("late", 1), content=TaskClass(requests=(("cpu", 400), ("gpu", 1)))))
    assert kept_back(found)["late"][0] == ("Insufficient gpu", 8)


def test_a_gang_that_finds_too_few_places_is_told_so():
    members = [TasksSubmitted(1, uids("gang", 3), job="g")]
    found = scheduler(
        machine("m1", cpu=250), JobDefined(Job("g", min_members=3)), ClassDefined(1, task_class()), *members
    )
    assert kept_back(found)["gang"] == [("node(s) had room for some of them, but not for all at once", 1)]
