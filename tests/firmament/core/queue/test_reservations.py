"""Machines kept for tasks that others keep overtaking."""

from __future__ import annotations

import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import JobDefined, MachineRemoved, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.filters.static_rows import StaticRows
from firmament.core.model import HostPort, Job
from firmament.core.queue.gang_reservations import GangReservation, KeptPart
from firmament.core.queue.reservations import MACHINES_PER_RESERVATION, Reservation, Reservations
from firmament.core.rules.registry import default_rules
from firmament.core.scheduler import Scheduler
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import START, Clock, machine, messages, placed, scheduler, task_class, tasks

SOON = RoundOptions(reserve_after_rounds=3, reserve_for_rounds=5, reserve_after=0.0)
RESERVED = "node(s) were reserved for a pod that has waited longer"


def overtaken(options: RoundOptions = SOON, *, priority: int = 0, quota_cpu: int | None = None) -> Scheduler:
    """A large task that three rounds of small ones have overtaken; small ones use half of the machine.

    Machine "m" has room for the large task only when it is empty; "n" is too small for it. ``quota_cpu``: the quota of
    the queue that the large task and tiny ones are in; None for no queue.
    """
    queue = "" if quota_cpu is None else "q"
    core = scheduler(
        *([flavor("any"), quota("q", {"any": {"cpu": quota_cpu}})] if quota_cpu is not None else ()),
        machine("m", cpu=1_000),
        machine("n", cpu=100),
        tasks(1, content=task_class(cpu=500, runs_to_completion=True)),
        tasks(2, content=task_class(cpu=1_000, queue=queue)),
        tasks(3, content=task_class(cpu=100, queue=queue)),
        options=options,
    )
    core.apply(
        [
            TasksBound("m", 1, ("running",), priority=priority),
            TasksSubmitted(2, ("large",), priority=priority),
        ]
    )
    for number in range(3):
        core.apply([TasksSubmitted(1, (f"small-{number}",))])
        assert placed(core.run_round()) == {f"small-{number}": "m"}
        core.apply([TaskRemoved(f"small-{number}")])
    return core


def submit(core: Scheduler, number: int, uid: str, *, priority: int = 0) -> dict[str, str]:
    """Submit one task and run a round."""
    core.apply([TasksSubmitted(number, (uid,), priority=priority)])
    return placed(core.run_round())


def test_before_its_time_nothing_is_reserved():
    core = overtaken(RoundOptions(reserve_after_rounds=4, reserve_after=0.0))
    assert submit(core, 1, "small") == {"small": "m"}


def test_an_overtaken_task_gets_the_machine_once_it_has_drained():
    core = overtaken()
    core.apply([TasksSubmitted(1, ("small",))])
    assert messages(core.run_round()) == {
        "small": f"0/2 nodes are available: 1 Insufficient cpu, 1 {RESERVED}."
    }
    core.apply([TaskRemoved("running")])
    assert placed(core.run_round()) == {"large": "m"}


def test_machines_that_are_too_small_for_it_stay_open():
    assert submit(overtaken(), 3, "tiny") == {"tiny": "n"}


def test_more_important_tasks_may_use_a_reserved_machine():
    assert submit(overtaken(priority=5), 1, "small", priority=6) == {"small": "m"}
    assert submit(overtaken(priority=5), 1, "small", priority=5) == {}


def test_a_reservation_ends_with_the_task():
    core = overtaken()
    assert submit(core, 1, "small") == {}
    core.apply([TaskRemoved("large")])
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"small": "m"}


def test_a_reservation_ends_when_another_task_takes_the_quota():
    core = overtaken(quota_cpu=1_000)
    assert submit(core, 1, "small") == {}
    assert submit(core, 3, "of the same queue") == {"of the same queue": "n"}
    assert placed(core.run_round()) | submit(core, 1, "other") == {"small": "m"}


def test_a_reservation_ends_when_the_task_is_placed_elsewhere():
    core = overtaken()
    core.apply([machine("o", cpu=1_000)])
    assert placed(core.run_round()) == {"large": "o"}
    assert submit(core, 1, "small") == {"small": "m"}


@pytest.mark.parametrize("event", [MachineRemoved("m"), machine("m", cpu=1_000, cordoned=True)])
def test_a_reservation_ends_with_its_machine(event: MachineRemoved):
    core = overtaken()
    assert submit(core, 1, "small") == {}
    core.apply([event, machine("o", cpu=900)])
    assert placed(core.run_round()) == {"small": "o"}


def test_a_reservation_lapses_after_a_number_of_rounds():
    core = overtaken()
    assert submit(core, 1, "small") == {}
    for number in range(5):
        assert submit(core, 3, f"tiny-{number}") == {f"tiny-{number}": "n"}
        core.apply([TaskRemoved(f"tiny-{number}")])
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"small": "m"}


def test_rounds_that_place_nothing_do_not_count():
    core = scheduler(
        machine("m", cpu=1_000),
        tasks(1, "large", content=task_class(cpu=1_000)),
        tasks(2, content=task_class(cpu=500, runs_to_completion=True)),
        options=SOON,
    )
    core.apply([TasksBound("m", 2, ("running",))])
    for _ in range(9):
        core.run_round()
    assert submit(core, 2, "small") == {"small": "m"}


def stream(core: Scheduler, clock: Clock, rounds: int, seconds: float) -> list[bool]:
    """Submit a small task that ends at once, again and again; which of them were placed on machine "m"."""
    found = []
    for number in range(rounds):
        found.append(submit(core, 1, f"small-{clock.now}-{number}") != {})
        core.apply([TaskRemoved(f"small-{clock.now}-{number}")])
        clock.advance(seconds)
    return found


def crowded(clock: Clock, *, ends: bool = True, **options: float) -> Scheduler:
    """A large task waits for a machine on which a task of half its size runs, which may be expected to end or not."""
    return scheduler(
        machine("m", cpu=1_000),
        tasks(1, content=task_class(cpu=500)),
        tasks(2, "large", content=task_class(cpu=1_000)),
        tasks(3, content=task_class(cpu=500, runs_to_completion=ends)),
        [TasksBound("m", 3, ("running",))],
        options=RoundOptions(**options),  # type: ignore[arg-type]  # by name
        clock=clock,
    )


def test_a_burst_of_rounds_reserves_nothing():
    clock = Clock()
    assert all(stream(crowded(clock), clock, rounds=100, seconds=0.02))


def test_a_stream_of_them_does_once_it_has_lasted_as_long_as_stated():
    clock = Clock()
    placed_on_m = stream(crowded(clock, reserve_after=60.0), clock, rounds=100, seconds=1.0)
    assert 50 <= placed_on_m.index(False) <= 70


def test_rounds_with_long_pauses_between_them_are_no_stream():
    clock = Clock()
    assert all(stream(crowded(clock, reserve_for=30.0), clock, rounds=40, seconds=31.0))


@pytest.mark.parametrize("interval", [1.0, 8.0, 60.0])
def test_a_forecast_reserves_as_any_other_scheduler(interval: float):
    found = []
    for forecasts in (False, True):
        clock = Clock()
        core = crowded(clock)
        if forecasts:
            core.become_forecast()
        found.append(stream(core, clock, 70, interval))
    assert found[0] == found[1]
    assert not all(found[0])


def test_a_forecast_reserves_nothing_that_would_lapse_before_the_next_round():
    clock = Clock()
    core = crowded(clock)
    core.become_forecast()
    assert all(stream(core, clock, 40, 301.0))


def test_nothing_is_reserved_where_what_runs_is_not_expected_to_end():
    clock = Clock()
    assert all(stream(crowded(clock, ends=False, reserve_after=0.0), clock, rounds=40, seconds=1.0))


def test_one_that_is_told_to_go_is_expected_to_end():
    clock = Clock()
    core = crowded(clock, ends=False, reserve_after=0.0)
    core.apply(tasks(4, content=task_class(cpu=500, terminating=True)))
    core.apply([TaskRemoved("running"), TasksBound("m", 4, ("running",))])
    assert not all(stream(core, clock, rounds=20, seconds=1.0))


def test_nothing_is_reserved_where_room_is_not_what_is_lacking():
    """The large task has room on the machine, and a port keeps it away."""
    clock = Clock()
    port = HostPort(80)
    core = scheduler(
        machine("m", cpu=2_000),
        tasks(1, content=task_class(cpu=500)),
        tasks(2, "large", content=task_class(cpu=1_000, ports=(port,))),
        tasks(3, content=task_class(cpu=500, ports=(port,), runs_to_completion=True)),
        [TasksBound("m", 3, ("running",))],
        options=RoundOptions(reserve_after=0.0),
        clock=clock,
    )
    assert all(stream(core, clock, rounds=40, seconds=1.0))


def test_a_reservation_lapses_by_time_although_nothing_happens():
    clock = Clock()
    core = crowded(clock, reserve_after=0.0, reserve_for=100.0, refresh_seconds=1e6)
    stream(core, clock, rounds=9, seconds=1.0)
    assert submit(core, 1, "small") == {}
    wait = core.next_round_in()
    assert wait is not None
    assert 90.0 < wait <= 100.0
    clock.advance(wait)
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"small": "m"}
    wait = core.next_round_in()
    assert wait is None or wait > 1e5, "but to refresh what was said"


def test_a_reservation_ends_when_what_runs_there_turns_out_to_stay():
    """A more important task has come to the machine, and is not expected to end."""
    clock = Clock()
    core = crowded(clock, reserve_after=0.0)
    stream(core, clock, rounds=9, seconds=1.0)
    assert submit(core, 1, "small") == {}
    core.apply([machine("m", cpu=1_100), *tasks(5, content=task_class(cpu=200))])
    assert submit(core, 5, "urgent", priority=9) == {"urgent": "m"}
    core.apply([TaskRemoved("running")])
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"small": "m"}


def test_no_machine_is_reserved_for_a_task_without_quota():
    small = task_class(cpu=500, runs_to_completion=True)
    for cpu, expected in ((1_000, {}), (900, {"small": "m"})):
        core = scheduler(
            [flavor("any"), quota("q", {"any": {"cpu": cpu}}), machine("m", cpu=1_000)],
            tasks(1, content=small),
            tasks(2, content=task_class(cpu=1_000, queue="q")),
            options=SOON,
        )
        core.apply([TasksBound("m", 1, ("running",)), TasksSubmitted(2, ("large",))])
        for number in range(3):
            assert submit(core, 1, f"small-{number}") == {f"small-{number}": "m"}
            core.apply([TaskRemoved(f"small-{number}")])
        assert submit(core, 1, "small") == expected, cpu


def test_a_task_has_one_machine_reserved_however_many_may_be():
    machines = 2 * MACHINES_PER_RESERVATION
    core = scheduler(
        *(machine(f"m{number}", cpu=1_000) for number in range(machines)),
        tasks(1, content=task_class(cpu=500, runs_to_completion=True)),
        tasks(2, "large", content=task_class(cpu=1_000)),
        *([TasksBound(f"m{number}", 1, (f"runs-{number}",))] for number in range(machines)),
    )
    cluster = core._cluster
    reservations = Reservations(RoundOptions(reserve_after_rounds=3))
    rows = StaticRows(cluster.machines, cluster.classes.shapes, default_rules())
    cluster.tasks.passed_over[cluster.tasks.row_of["large"]] = 3
    for _ in range(3):
        reservations.refresh(cluster, rows, START)
        assert [(each.uid, each.machine) for each in reservations.held] == [("large", "m0")]
    core.apply([TasksSubmitted(2, ("second", "third"))])
    for uid in ("second", "third"):
        cluster.tasks.passed_over[cluster.tasks.row_of[uid]] = 3
    reservations.refresh(cluster, rows, START)
    assert [each.machine for each in reservations.held] == ["m0", "m1"]
    assert len({each.uid for each in reservations.held}) == 2
    core.apply([JobDefined(Job("g", min_members=2)), TasksSubmitted(2, ("g-0", "g-1"), job="g")])
    parts = [KeptPart(name, cluster.classes.row(2), 1) for name in ("m0", "m1")]
    beside = Reservations(RoundOptions(reserve_after_rounds=3))
    beside.gangs.held["g"] = GangReservation("g", 0, parts, 9, START + 9.0)
    beside.refresh(cluster, rows, START)
    assert [each.machine for each in beside.held] == ["m2", "m3"], "others are kept for a gang"


def test_rounds_pass_over_those_who_find_no_place_and_not_those_refused_for_good():
    core = scheduler(machine("m"), tasks(1, "waits", "refused", "open", content=task_class(cpu=10)))
    cluster = core._cluster
    rows = [cluster.tasks.row_of[uid] for uid in ("waits", "refused", "open")]
    cluster.tasks.unschedulable[rows[:2]] = True
    cluster.tasks.refused[rows[1]] = True
    reservations = Reservations(RoundOptions(reserve_after_rounds=8, reserve_after=80.0, reserve_for=100.0))
    held = Reservation("waits", "m", int(cluster.tasks.cls[rows[0]]), 0, 9, START + 1e6)
    reservations.held = [held]
    seen = []
    for now in (0.0, 9.9, 10.0, 19.9, 20.0, 120.0, 220.1):
        reservations.count_round(cluster, START + now)
        seen.append(cluster.tasks.passed_over[rows].tolist())
    assert [waits for waits, *_ in seen] == [1, 1, 2, 2, 3, 4, 1], "after a pause it counts anew"
    assert all(others == [0, 0] for _, *others in seen)
    assert held.rounds == 4, "two of the seven came too soon after the one before"


def test_a_task_that_asks_for_something_else_has_its_machine_chosen_anew():
    core = overtaken()
    assert submit(core, 1, "small") == {}
    held = core._requeue.reservations.held
    assert [(each.uid, each.machine) for each in held] == [("large", "m")]
    core.apply(tasks(4, "large", content=task_class(cpu=999)))
    assert core.next_round_in() == 0.0
    assert [each.cls for each in core._requeue.reservations.held] == [core._cluster.classes.row(4)]
