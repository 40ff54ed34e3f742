"""Tasks that find no place have less important ones evicted; who goes, who comes, and what if somebody does not go."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence

import pytest

from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    JobDefined,
    RecordUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import (
    HostPort,
    Job,
    TaskSelector,
    TaskTerm,
)
from firmament.core.record_kinds import BUDGET_RECORD
from firmament.core.results import Delta, DeltaKind, RoundResult
from firmament.core.scheduler import Scheduler
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import Clock, machine, messages, scheduler, task_class, tasks, uids

RUNNING, WANTED = 1, 2


def running(on: str, *names: str, cpu: int = 1000, priority: int = 0, **content) -> list[Event]:
    """Tasks that run on a machine, the first of them started first."""
    number = 100 + zlib.crc32(repr((cpu, content)).encode()) % 10_000
    return [
        ClassDefined(number, task_class(cpu, **content)),
        TasksBound(
            on,
            number,
            names,
            names=names,
            priority=priority,
            assigned=tuple(float(index + 1) for index in range(len(names))),
        ),
    ]


def wanted(*names: str, cpu: int = 1000, priority: int = 10, **content) -> list[Event]:
    return tasks(WANTED, *names, content=task_class(cpu, **content), priority=priority)


def evicted(result: RoundResult) -> list[str]:
    return sorted(delta.uid for delta in result.deltas if delta.kind is DeltaKind.PREEMPT)


def placed(result: RoundResult) -> dict[str, Delta]:
    return {delta.uid: delta for delta in result.deltas if delta.kind is DeltaKind.PLACE}


def budget(name: str, app: str, allowed: int, disrupted: Sequence[str] = ()) -> RecordUpserted:
    selector = [{"key": "app", "operator": "In", "values": [app]}]
    payload = {"namespace": "", "selector": selector, "allowed": allowed, "disrupted": [*disrupted]}
    return RecordUpserted(BUDGET_RECORD, name, json.dumps(payload).encode())


def test_the_latest_started_goes_and_the_other_comes_after_it():
    made = scheduler(machine("m"), running("m", "a", "b", "c", "d"), wanted("p"))
    result = made.run_round()
    assert result.deltas == (
        Delta(DeltaKind.PREEMPT, "d", "m"),
        Delta(DeltaKind.PLACE, "p", "m", depends_on=("d",)),
    )
    assert result.stats.placed == 1
    assert made.next_round_in() is None


@pytest.mark.parametrize("priority", [0, 1])
def test_equal_or_higher_priority_is_never_evicted(priority: int):
    made = scheduler(machine("m"), running("m", *uids("r", 4), priority=priority), wanted("p", priority=0))
    assert made.run_round().deltas == ()


def test_assumed_tasks_are_not_evicted_before_they_are_bound():
    made = scheduler(machine("m"), tasks(1, "low", content=task_class(4000)))
    assert list(placed(made.run_round())) == ["low"]
    made.apply(wanted("p"))
    assert made.run_round().deltas == ()
    made.report([BindingReport("low", "m", bound=True)])
    assert made.next_round_in() == 0
    assert evicted(made.run_round()) == ["low"]


@pytest.mark.parametrize(("priority", "victims"), [(5, ["s1", "s2"]), (0, ["large"]), (-1, ["large"])])
def test_unimportant_victims_rather_than_few(priority: int, victims: list[str]):
    """Of equals that started together few large ones go."""
    made = scheduler(
        machine("m"),
        [each for name in ("s1", "s2") for each in running("m", name)],
        running("m", "large", cpu=2000, priority=priority),
        wanted("p", cpu=2000),
    )
    assert evicted(made.run_round()) == victims


def test_two_tasks_take_the_places_of_unimportant_ones_on_one_machine():
    """Rather than that of an important one each, or the second one's."""
    made = scheduler(
        machine("m"),
        machine("n"),
        running("m", "a", "b", cpu=2000, priority=-10),
        running("n", "dns", cpu=4000, priority=2_000_000_000),
        wanted("p", "q", cpu=2000, priority=2_000_001_000),
    )
    assert evicted(made.run_round()) == ["a", "b"]


@pytest.mark.parametrize("number", [1, 60])
def test_the_highest_priority_among_all_victims_is_as_low_as_can_be(number: int):
    """Small and large tasks: the small ones leave the machines to the large ones where all are unimportant."""
    made = scheduler(
        [machine(f"{name}{n}") for name in ("m", "n") for n in range(number)],
        [
            each
            for name, priorities in (("m", (0, 500)), ("n", (500, 1000)))
            for n in range(number)
            for priority in priorities
            for each in running(f"{name}{n}", f"{name}{n}-{priority}", cpu=2000, priority=priority)
        ],
        tasks(600, *uids("small", number), content=task_class(2000), priority=5000),
        tasks(601, *uids("large", number), content=task_class(4000), priority=5000),
    )
    result = made.run_round()
    assert result.stats.placed == 2 * number
    assert {uid.split("-")[1] for uid in evicted(result)} == {"0", "500"}


def test_of_as_many_victims_the_least_important():
    made = scheduler(
        machine("m"),
        machine("n"),
        running("m", "a", cpu=4000, priority=3),
        running("n", "b", cpu=4000),
        wanted("p"),
    )
    assert evicted(made.run_round()) == ["b"]


def test_nobody_else_takes_the_place_meanwhile():
    made = scheduler(machine("m"), running("m", "big", cpu=4000), wanted("p", cpu=2000))
    assert evicted(made.run_round()) == ["big"]
    made.apply(tasks(3, "small", content=task_class(100), priority=0))
    assert made.run_round().deltas == ()
    made.apply([TaskRemoved("big")])
    assert placed(made.run_round())["small"].depends_on == ()


def test_a_victim_that_stays_gives_its_place_back():
    clock = Clock()
    made = scheduler(machine("m"), running("m", "big", cpu=4000), wanted("p"), clock=clock)
    made.run_round()
    made.report([BindingReport("big", "m", bound=False, reason="refused by a budget")])
    assert {state.uid: state.state for state in made.task_states()} == {"big": "BOUND", "p": "BACKOFF"}
    clock.advance(2.0)
    assert evicted(made.run_round()) == ["big"]


def test_room_that_is_being_vacated_is_counted_and_nobody_else_goes():
    made = scheduler(
        machine("m"),
        machine("n"),
        running("m", "leaving", cpu=4000, terminating=True),
        running("n", "other", cpu=4000),
        wanted("p"),
    )
    result = made.run_round()
    assert evicted(result) == []
    assert placed(result)["p"].depends_on == ("leaving",)


def test_budgets_are_kept_while_there_is_another_choice():
    def made(extra: list[Event]) -> Scheduler:
        guarded = running("m", "guarded", cpu=4000, labels=(("app", "a"),))
        return scheduler(machine("m"), budget("b", "a", 0), guarded, extra, wanted("p"))

    choice = made([machine("n"), *running("n", *uids("free", 4), cpu=1000, priority=9)])
    assert evicted(choice.run_round()) == ["free-3"]
    forced = made([]).run_round()
    assert [(delta.uid, delta.beyond_budget) for delta in forced.deltas] == [("guarded", True), ("p", False)]


def test_a_budget_is_not_spent_twice_before_its_record_comes_again():
    guarded = running("m", "x", "y", cpu=2000, labels=(("app", "a"),))
    made = scheduler(machine("m"), budget("b", "a", 1), guarded, wanted("p", cpu=2000))
    assert [delta.beyond_budget for delta in made.run_round().deltas] == [False, False]
    made.apply(tasks(4, "q", content=task_class(2000), priority=10))
    again = made.run_round()
    assert [delta.beyond_budget for delta in again.deltas if delta.kind is DeltaKind.PREEMPT] == [True]


def test_a_task_that_is_counted_as_gone_is_evicted_whatever_its_budget_says():
    guarded = running("m", "x", "y", cpu=2000, labels=(("app", "a"),))
    made = scheduler(machine("m"), budget("b", "a", 1, disrupted=["y"]), guarded, wanted("p", cpu=2000))
    first = made.run_round().deltas
    assert [(delta.uid, delta.beyond_budget) for delta in first] == [("y", True), ("p", False)]
    made.apply(tasks(4, "q", content=task_class(2000), priority=10))
    again = [delta for delta in made.run_round().deltas if delta.kind is DeltaKind.PREEMPT]
    assert [(delta.uid, delta.beyond_budget) for delta in again] == [("x", False)], "the budget is not spent"


def test_ports_and_anti_affinity_are_won_by_eviction():
    near = TaskTerm("host", TaskSelector(labels=(), namespaces=("",)))
    port = (HostPort(80),)
    made = scheduler(
        machine("m", labels={"host": "m"}),
        running("m", "web", cpu=100, ports=port),
        running("m", "by", cpu=100),
        wanted("p", cpu=100, ports=port),
    )
    assert evicted(made.run_round()) == ["web"]
    alone = scheduler(
        machine("m", labels={"host": "m"}),
        running("m", "a", cpu=100),
        running("m", "b", cpu=100),
        wanted("p", cpu=100, anti_affinity=(near,)),
    )
    assert evicted(alone.run_round()) == ["a", "b"]


def gang(*on: str, name: str = "g", need: int, cpu: int = 2000, priority: int = 0) -> list[Event]:
    """A gang with one member per entry of ``on``, on that machine; the first started first."""
    number = 50 + len(name) + cpu
    bound = [
        TasksBound(at, number, (f"{name}{index}",), job=name, priority=priority, assigned=(float(index + 1),))
        for index, at in enumerate(on)
    ]
    return [JobDefined(Job(name, min_members=need)), ClassDefined(number, task_class(cpu)), *bound]


def test_a_gang_that_can_spare_nobody_goes_as_a_whole():
    made = scheduler(machine("m"), machine("n"), gang("m", "m", "n", "n", need=4), wanted("p"))
    result = made.run_round()
    assert {(delta.uid, delta.machine) for delta in result.deltas if delta.kind is DeltaKind.PREEMPT} == {
        ("g0", "m"),
        ("g1", "m"),
        ("g2", "n"),
        ("g3", "n"),
    }
    assert sorted(placed(result)["p"].depends_on) == ["g0", "g1", "g2", "g3"]


def test_a_gang_loses_what_it_can_spare_and_no_more():
    made = scheduler(machine("m"), gang("m", "m", need=2, cpu=1500), running("m", "a"), wanted("p"))
    assert evicted(made.run_round()) == ["a"]
    made = scheduler(machine("m"), gang("m", "m", "m", "m", need=3, cpu=1000), wanted("p"), wanted("q"))
    assert evicted(made.run_round()) == ["g0", "g1", "g2", "g3"]
    made = scheduler(machine("m"), gang("m", "m", "m", "m", need=3, cpu=1000), wanted("p"))
    assert evicted(made.run_round()) == ["g3"]


def test_a_gang_that_is_disrupted_as_a_whole_spares_nobody():
    whole = JobDefined(Job("g", min_members=1, disrupted_whole=True))
    made = scheduler(machine("m"), gang("m", "m", "m", "m", need=3, cpu=1000), [whole], wanted("p", cpu=1000))
    assert evicted(made.run_round()) == ["g3"]  # one is no gang
    whole = JobDefined(Job("g", min_members=2, disrupted_whole=True))
    made = scheduler(machine("m"), gang("m", "m", "m", "m", need=3, cpu=1000), [whole], wanted("p", cpu=1000))
    assert evicted(made.run_round()) == ["g0", "g1", "g2", "g3"]


@pytest.mark.parametrize(("priority", "victims"), [(99, []), (0, ["g0", "g1", "more0"])])
def test_a_gang_with_a_member_that_may_not_go_stays(priority: int, victims: list[str]):
    made = scheduler(
        machine("m"),
        machine("n"),
        gang("n", name="more", need=3, cpu=4000, priority=priority),
        gang("m", "m", need=3),
        wanted("p"),
    )
    made.apply([TasksBound("n", 4054, ("more0",), job="g", priority=priority)])
    assert evicted(made.run_round()) == victims


@pytest.mark.parametrize(("priority", "victims"), [(0, ["c"]), (3, ["g0", "g1"])])
def test_a_gang_that_goes_counts_with_all_its_members(priority: int, victims: list[str]):
    made = scheduler(
        machine("m"),
        machine("n"),
        gang("m", "m", need=2),
        running("n", "a", "b", "c", cpu=1300, priority=priority),
        wanted("p", cpu=1400),
    )
    assert evicted(made.run_round()) == victims


def test_who_never_preempts_says_so():
    made = scheduler(machine("m"), running("m", "big", cpu=4000), wanted("p", never_preempts=True))
    result = made.run_round()
    assert result.deltas == ()
    assert messages(result, preemption=True)["p"] == (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
        "preemption: not eligible due to preemptionPolicy=Never."
    )


def test_who_could_not_preempt_says_why():
    made = scheduler(
        machine("m"),
        machine("n"),
        machine("o", cordoned=True),
        machine("q", cpu=2000),
        running("m", "even", cpu=4000, priority=10),
        running("n", "even-2", cpu=3000, priority=10),
        running("n", "low", cpu=500),
        running("q", "low-2", cpu=500),
        wanted("p", cpu=3000),
    )
    assert messages(made.run_round(), preemption=True)["p"].endswith(
        " preemption: 0/4 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )


def test_a_decision_that_events_overtook_is_dropped_and_made_again():
    made = scheduler(machine("m"), running("m", "big", cpu=4000), wanted("p", cpu=2000))
    opened = made.open_round()
    placement = opened.solve()
    made.apply([*running("m", "big", cpu=4000, priority=20)])
    assert made.close_round(opened, placement).deltas == ()
    assert made.run_round().deltas == ()


@pytest.mark.parametrize(("machines", "evictions"), [(1, 0), (2, 2)])
def test_a_gang_evicts_for_all_it_needs_or_for_nobody(machines: int, evictions: int):
    names = [f"m{index}" for index in range(machines)]
    made = scheduler(
        [machine(name) for name in names],
        *[running(name, f"r-{name}", cpu=4000) for name in names],
        [JobDefined(Job("g", min_members=2)), ClassDefined(7, task_class(3000))],
        [TasksSubmitted(7, ("g1", "g2"), job="g", priority=10)],
    )
    result = made.run_round()
    assert len(evicted(result)) == evictions
    assert len(placed(result)) == evictions


@pytest.mark.parametrize("ends", ["deleted", "refused"])
def test_an_eviction_that_nobody_needs_any_more_is_withdrawn_once(ends: str):
    made = scheduler(machine("m"), running("m", "big", cpu=4000), wanted("p"))
    assert evicted(made.run_round()) == ["big"]
    assert made.next_round_in() is None
    if ends == "deleted":
        made.apply([TaskRemoved("p")])
    else:
        made.report([BindingReport("p", "m", bound=False, retry=False)])
    assert made.next_round_in() == 0
    assert made.run_round().deltas == (Delta(DeltaKind.PREEMPT, "big", "m", withdrawn=True),)
    assert made.next_round_in() is None
    made.report([BindingReport("big", "m", bound=False, reason="nobody needs its place any more")])
    assert made.run_round().deltas == ()
    assert {state.uid: state.state for state in made.task_states()}["big"] == "BOUND"


def test_an_eviction_that_somebody_else_needs_stands():
    made = scheduler(machine("m"), running("m", "big", cpu=4000), wanted("p"))
    made.run_round()
    made.apply([TaskRemoved("p"), *wanted("q")])
    result = made.run_round()
    assert (evicted(result), placed(result)["q"].depends_on) == ([], ("big",))
    made.apply([TaskRemoved("q")])
    assert [delta.withdrawn for delta in made.run_round().deltas] == [True]


@pytest.mark.parametrize(
    "meanwhile",
    [
        [TasksBound("n", 1, ("thief",), priority=99)],  # the place of one member is taken
        [TasksBound("o", 4054, ("more",), job="g", priority=0)],  # the gang that goes has one more member
        [JobDefined(Job("wanted", min_members=3))],  # the gang that comes needs more than was decided
    ],
    ids=["room", "victims", "need"],
)
def test_events_during_a_round_split_neither_the_gang_that_comes_nor_the_one_that_goes(
    meanwhile: list[Event],
):
    made = scheduler(machine("m"), machine("n"), machine("o"), gang("m", "n", need=2, cpu=4000))
    made.apply([ClassDefined(1, task_class(2000)), ClassDefined(4054, task_class(4000))])
    made.apply([JobDefined(Job("wanted", min_members=2)), ClassDefined(WANTED, task_class(3000))])
    made.apply([*running("o", "o", cpu=4000, priority=99)])
    made.apply([TasksSubmitted(WANTED, ("p", "q"), job="wanted", priority=10)])
    opened = made.open_round()
    placement = opened.solve()
    assert len(placement.evictions) == 2
    made.apply(meanwhile)
    assert made.close_round(opened, placement).deltas == ()


def test_a_gang_takes_the_place_of_a_less_important_one():
    made = scheduler(machine("m"), machine("n"), gang("m", "m", "n", "n", need=3))
    made.apply([JobDefined(Job("wanted", min_members=4)), ClassDefined(WANTED, task_class(2000))])
    made.apply([TasksSubmitted(WANTED, uids("p", 4), job="wanted", priority=10)])
    result = made.run_round()
    assert evicted(result) == ["g0", "g1", "g2", "g3"]
    assert {each.depends_on and tuple(sorted(each.depends_on)) for each in placed(result).values()} == {
        ("g0", "g1", "g2", "g3")
    }
    # One of them may not be evicted: all wait again, nobody is bound beside half of the other gang.
    made.report([BindingReport("g2", "n", bound=False, reason="a budget says no")])
    assert {state.state for state in made.task_states() if state.uid.startswith("p")} == {"BACKOFF"}


def test_a_gang_loses_all_its_places_if_one_of_those_who_should_go_stays():
    clock = Clock()
    made = scheduler(machine("m"), machine("n"), machine("o"), clock=clock)
    made.apply([*running("m", "a", cpu=4000), *running("n", "b", cpu=4000)])
    made.apply([JobDefined(Job("wanted", min_members=3)), ClassDefined(WANTED, task_class(3000))])
    made.apply([TasksSubmitted(WANTED, uids("p", 3), job="wanted", priority=10)])
    deltas = placed(made.run_round())
    first, *others = deltas.values()
    assert (first.depends_on, len(others)) == (("a", "b"), 2)
    assert all(first.uid in each.depends_on for each in others)
    made.report([BindingReport("b", "n", bound=False, reason="a budget says no")])
    assert {state.uid: state.state for state in made.task_states()} == {
        "a": "BOUND",
        "b": "BOUND",
        **dict.fromkeys(uids("p", 3), "BACKOFF"),
    }
    clock.advance(2.0)
    again = made.run_round()  # a goes, or has been let off, and b is asked once more
    assert len(placed(again)) == 3


def test_a_member_that_waits_for_others_to_go_is_not_bound_beside_them():
    made = scheduler(machine("m"), machine("n"), running("m", "a", cpu=4000), running("n", "b", cpu=4000))
    made.apply([JobDefined(Job("wanted", min_members=2)), ClassDefined(WANTED, task_class(3000))])
    made.apply([TasksSubmitted(WANTED, ("p", "q"), job="wanted", priority=10)])
    for delta in placed(made.run_round()).values():
        made.report([BindingReport(delta.uid, delta.machine, bound=False, reason="no", retry=True)])
    assert {state.state for state in made.task_states() if state.uid in "pq"} == {"BACKOFF"}
    assert {state.machine for state in made.task_states() if state.uid in "pq"} == {""}


def test_a_budget_lets_as_many_go_as_it_allows():
    guarded = running("m", "a", "b", cpu=2000, labels=(("app", "a"),))
    made = scheduler(machine("m"), budget("b", "a", 2), guarded, wanted("p", cpu=4000))
    deltas = made.run_round().deltas
    assert [delta.beyond_budget for delta in deltas] == [False, False, False]


@pytest.mark.parametrize(
    ("victim", "preemptor", "leaves"),
    [("own", "own", True), ("other", "own", False), ("", "own", True), ("other", "", True)],
)
def test_for_room_alone_nobody_leaves_whom_the_quota_of_another_queue_covers(
    victim: str, preemptor: str, leaves: bool
):
    """Where queues may take quota back from each other, it would come again; in one queue, importance decides."""
    reclaim = {"reclaim": "Any"}
    core = scheduler(
        machine("m", cpu=10),
        flavor("any"),
        quota("cohort"),
        quota("own", {"any": {"cpu": 20}}, parent="cohort", preemption=reclaim),
        quota("other", {"any": {"cpu": 20}}, parent="cohort", preemption=reclaim),
        running("m", "victim", cpu=10, queue=victim),
        wanted("preemptor", cpu=10, queue=preemptor),
    )
    assert evicted(core.run_round()) == (["victim"] if leaves else [])
