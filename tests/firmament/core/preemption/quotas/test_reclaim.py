"""Who goes so that others have quota: by policies of queues, fewest and least important first, never in a circle."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import pytest

from firmament.core.events import ClassDefined, Event, JobDefined, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import Job
from firmament.core.preemption.quotas import reclaim
from firmament.core.results import Delta, DeltaKind, RoundResult
from firmament.core.scheduler import Scheduler
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, placed, scheduler, task_class, tasks, uids
from tests.support.effort import examples

ANY = {"within": "LowerPriority", "reclaim": "Any"}


def _class(queue: str, cpu: int = 1000):
    return task_class(cpu, queue=queue)


def _bound(
    number: int, queue: str, *uids: str, cpu: int = 1000, priority: int = 0, at: str = "a"
) -> list[Event]:
    return [ClassDefined(number, _class(queue, cpu)), TasksBound(at, number, uids, priority=priority)]


def list_evicted(result: RoundResult) -> set[str]:
    return {delta.uid for delta in result.deltas if delta.kind is DeltaKind.PREEMPT}


def _came(result: RoundResult) -> dict[str, Delta]:
    return {delta.uid: delta for delta in result.deltas if delta.kind is DeltaKind.PLACE}


def _cohort(policy: dict[str, Any], left: int = 2000, right: int = 2000, **more: Any) -> list[Event]:
    return [
        machine("a", cpu=20_000),
        machine("b", cpu=20_000),
        flavor("any"),
        quota("cohort"),
        quota("left", {"any": {"cpu": left}}, parent="cohort", preemption=policy, **more),
        quota("right", {"any": {"cpu": right}}, parent="cohort", preemption=policy, **more),
    ]


def test_a_queue_takes_back_what_others_borrow_and_no_more():
    core = scheduler(
        _cohort(ANY), _bound(1, "right", *uids("r", 4)), tasks(2, *uids("l", 3), content=_class("left"))
    )
    result = core.run_round()
    assert len(list_evicted(result)) == 2
    assert len(_came(result)) == 2
    assert {uid for delta in _came(result).values() for uid in delta.depends_on} == list_evicted(result)


@pytest.mark.parametrize(("stays", "gone"), [(5, True), (4, False), (2, False)])
def test_a_gang_that_its_queue_covers_in_part_leaves_as_a_whole(stays: int, gone: bool):
    """A gang of five tasks has a quota of four. If it can go on with four, or with two, only one of them leaves."""
    core = scheduler(
        _cohort(ANY, left=4000, right=4000),
        JobDefined(Job("gang", size=5, min_members=stays)),
        ClassDefined(1, _class("right")),
        TasksBound("a", 1, uids("r", 5), job="gang"),
        JobDefined(Job("own", size=4, min_members=4)),
        ClassDefined(2, _class("left")),
        TasksSubmitted(2, uids("l", 4), job="own"),
    )
    result = core.run_round()
    assert len(_came(result)) == 4
    assert len(list_evicted(result)) == (5 if gone else 1)


def test_a_gang_within_the_quota_of_its_queue_stays_where_another_borrows():
    core = scheduler(
        _cohort(ANY, left=4000, right=4000),
        [JobDefined(Job(name, size=3, min_members=3)) for name in ("first", "second", "own")],
        ClassDefined(1, _class("right")),
        TasksBound("a", 1, uids("first", 3), job="first", priority=1),
        TasksBound("a", 1, uids("second", 3), job="second"),
        ClassDefined(2, _class("left")),
        TasksSubmitted(2, uids("l", 3), job="own"),
    )
    result = core.run_round()
    assert len(_came(result)) == 3
    assert list_evicted(result) == set(uids("second", 3))


@pytest.mark.parametrize(("beyond", "asked", "gone"), [(True, 3000, 1), (False, 3000, 0), (False, 2000, 1)])
def test_who_asks_for_more_than_the_quota_evicts_nobody_if_the_queue_says_so(
    beyond: bool, asked: int, gone: int
):
    core = scheduler(
        _cohort({**ANY, "beyondQuota": beyond}),
        _bound(1, "left", "own"),
        _bound(2, "right", *uids("r", 2 if asked == 2000 else 1)),
        tasks(3, "late", content=_class("left", asked), priority=1),
    )
    result = core.run_round()
    assert len(list_evicted(result)) == gone
    assert len(_came(result)) == gone


def test_a_cohort_below_the_root_with_enough_left_lets_its_queue_evict():
    """The queue's own quota is too small, that of its cohort is not; what it lacks has been lent farther up."""
    policy = {**ANY, "beyondQuota": False}
    core = scheduler(
        [
            machine("a", cpu=20_000),
            flavor("any"),
            quota("top"),
            quota("mine", {"any": {"cpu": 3000}}, parent="top"),
        ],
        quota("left", {"any": {"cpu": 0}}, parent="mine", preemption=policy),
        quota("right", {"any": {"cpu": 1000}}, parent="top", preemption=policy),
        _bound(1, "right", *uids("r", 4)),
        tasks(2, "late", content=_class("left", 3000)),
    )
    assert len(list_evicted(core.run_round())) == 3


def test_victims_that_cannot_help_cost_no_trials(monkeypatch: pytest.MonkeyPatch):
    """Others' tasks alone would do, but nobody may borrow what they leave: those of the own queue go, too."""
    monkeypatch.setattr(reclaim, "MOST_TRIALS", 30)
    core = scheduler(
        [machine("a", cpu=40_000), flavor("any"), quota("cohort", {"any": {"cpu": 20_000}})],
        [
            quota(name, {"any": {"cpu": cpu}}, parent="cohort", preemption=ANY)
            for name, cpu in (("left", 10_000), ("right", 2_000))
        ],
        _bound(1, "left", *uids("l", 16), cpu=500),
        _bound(2, "right", *uids("r", 48), cpu=500),
        tasks(3, "large", content=_class("left", 6_000), priority=5),
    )
    result = core.run_round()
    assert list(_came(result)) == ["large"]
    went = list_evicted(result)
    assert (sum(uid.startswith("l") for uid in went), len(went)) == (8, 12)


@pytest.mark.parametrize(
    ("policy", "priority", "goes"),
    [
        ({"reclaim": "Never"}, 5, False),
        ({"reclaim": "LowerPriority"}, 5, True),
        ({"reclaim": "LowerPriority"}, 0, False),
        ({"reclaim": "Any"}, -5, True),
    ],
)
def test_policies_say_whose_tasks_go(policy: dict[str, str], priority: int, goes: bool):
    core = scheduler(
        _cohort(policy),
        _bound(1, "right", *uids("r", 4)),
        tasks(2, "l", content=_class("left"), priority=priority),
    )
    result = core.run_round()
    assert (len(list_evicted(result)), len(_came(result))) == ((1, 1) if goes else (0, 0))


@pytest.mark.parametrize(
    ("within", "priority", "goes"),
    [("Never", 5, set()), ("LowerPriority", 1, {"old"}), ("LowerPriority", 0, set())],
)
def test_within_a_queue_less_important_ones_go(within: str, priority: int, goes: set[str]):
    core = scheduler(
        machine("a", cpu=9000),
        flavor("any"),
        quota("team", {"any": {"cpu": 2000}}, preemption={"within": within}),
        _bound(1, "team", "old"),
        _bound(1, "team", "high", priority=9),
        tasks(2, "t", content=_class("team"), priority=priority),
    )
    assert list_evicted(core.run_round()) == goes


def test_who_borrows_reclaims_from_nobody_unless_told_so():
    events = [_cohort({"reclaim": "Any"}, left=0), _bound(1, "right", *uids("r", 2))]
    waiting = tasks(2, "l", content=_class("left"), priority=5)
    assert list_evicted(scheduler(*events, waiting).run_round()) == set()
    policy = {"reclaim": "Never", "borrow": {"policy": "LowerPriority", "threshold": 0}}
    cohort = [*_cohort(policy, left=0, right=1000), quota("cohort", {"any": {"cpu": 1000}})]
    core = scheduler(cohort, _bound(1, "right", *uids("r", 2)), waiting)
    assert len(list_evicted(core.run_round())) == 1


def test_a_gang_comes_as_a_whole_or_nobody_goes():
    for size, goes in ((2, 2), (3, 0)):
        gang: list[Event] = [
            JobDefined(Job("g", size=size, min_members=size)),
            ClassDefined(2, _class("left")),
            TasksSubmitted(2, uids("l", size), job="g"),
        ]
        result = scheduler(_cohort(ANY), _bound(1, "right", *uids("r", 4)), gang).run_round()
        assert len(list_evicted(result)) == goes


def test_one_large_task_goes_rather_than_several_and_the_least_important_of_equals():
    core = scheduler(
        _cohort(ANY, left=3000, right=0),
        quota("cohort", {"any": {"cpu": 1000}}),
        _bound(1, "right", *uids("s", 2), priority=-1),
        _bound(3, "right", "large", cpu=2000, priority=3),
        tasks(2, "l", content=_class("left", 2000)),
    )
    assert list_evicted(core.run_round()) == {"large"}


def test_of_equal_numbers_those_of_other_queues_go_first():
    running = [
        *_bound(1, "left", "own", priority=-1),
        *_bound(2, "left", "l"),
        *_bound(3, "right", *uids("r", 3)),
    ]
    core = scheduler(
        _cohort(ANY, left=3000, right=2000), running, tasks(9, "new", content=_class("left"), priority=1)
    )
    (gone,) = list_evicted(core.run_round())
    assert gone.startswith("r")


def test_a_gang_that_leaves_as_a_whole_counts_once():
    """A gang of three less important tasks goes rather than one task that is more important."""
    core = scheduler(
        _cohort(ANY, left=4000, right=0),
        JobDefined(Job("gang", size=3, min_members=3)),
        ClassDefined(1, _class("right")),
        TasksBound("a", 1, uids("g", 3), job="gang"),
        _bound(2, "right", "single", priority=1),
        tasks(3, "l", content=_class("left")),
    )
    assert list_evicted(core.run_round()) == {*uids("g", 3)}


def test_a_more_important_one_borrows_in_place_of_one_that_its_queue_covers():
    core = scheduler(
        _cohort(ANY, left=1000, right=3000),
        _bound(1, "left", "low", priority=-1),
        _bound(2, "right", *uids("r", 2)),
        tasks(9, "new", content=_class("left", 2000)),
    )
    assert list_evicted(core.run_round()) == {"low"}


def test_what_a_queue_does_not_lend_counts_for_it_alone():
    """Of five, one is the queue's own; the cohort above it brings in four."""
    core = scheduler(
        machine("a", cpu=20),
        flavor("any"),
        quota("root"),
        quota("due", {"any": {"cpu": 2}}, parent="root"),
        quota("q", {"any": {"cpu": 3}}, parent="due", lending={"any": {"cpu": 2}}, preemption=ANY),
        quota("other", {"any": {"cpu": 0}}, parent="root"),
        _bound(1, "other", "o", cpu=4),
        tasks(2, "new", content=_class("q", 5), priority=-2),
    )
    assert list_evicted(core.run_round()) == {"o"}


# --- fewest, against all sets ---------------------------------------------------------------------------------------


def _draw_case(
    seed: int,
) -> tuple[Scheduler, dict[str, tuple[str, int, int]], tuple[int, int], dict[str, int]]:
    draw = random.Random(seed)
    nominal = {"left": draw.randint(1, 6), "right": draw.randint(0, 4), "third": draw.randint(0, 4)}
    events: list[Event] = [machine("a", cpu=100), flavor("any"), quota("cohort")]
    policy = {"within": "LowerPriority", "reclaim": draw.choice(["Any", "LowerPriority"])}
    for name, amount in nominal.items():
        events.append(quota(name, {"any": {"cpu": amount}}, parent="cohort", preemption=policy))
    running: dict[str, tuple[str, int, int]] = {}
    left = sum(nominal.values())
    while left and len(running) < 10:
        cpu = draw.randint(1, min(3, left))
        queue, priority = draw.choice(["left", "right", "third"]), draw.randint(0, 2)
        uid = f"r{len(running)}"
        running[uid] = queue, cpu, priority
        events += _bound(10 + len(running), queue, uid, cpu=cpu, priority=priority)
        left -= cpu
    wanted = draw.randint(1, 4), draw.randint(0, 2)
    events += tasks(1, "t", content=_class("left", wanted[0]), priority=wanted[1])
    return scheduler(events), running, wanted, {**nominal, "reclaim": policy["reclaim"] == "Any"}


def _fewest(
    running: dict[str, tuple[str, int, int]], wanted: tuple[int, int], nominal: dict[str, int]
) -> int | None:
    """How many have to go at least, by what policies allow; 0: nobody; None: it cannot be."""

    def use(queue: str, gone: tuple[str, ...]) -> int:
        return sum(cpu for uid, (of, cpu, _) in running.items() if of == queue and uid not in gone)

    cpu, priority = wanted
    total = nominal["left"] + nominal["right"] + nominal["third"]
    for size in range(len(running) + 1):
        for gone in combinations(running, size):
            if sum(use(queue, gone) for queue in ("left", "right", "third")) + cpu > total:
                continue
            others = [uid for uid in gone if running[uid][0] != "left"]
            if any(running[uid][2] >= priority for uid in gone if running[uid][0] == "left"):
                continue
            if any(use(running[uid][0], ()) <= nominal[running[uid][0]] for uid in others):
                continue
            if any(running[uid][2] >= priority for uid in others) and not nominal["reclaim"]:
                continue
            if others and use("left", gone) + cpu > nominal["left"]:
                continue
            if size and not _is_progress(running, gone, wanted, nominal):
                continue
            return size
    return None


def _is_progress(
    running: dict[str, tuple[str, int, int]],
    gone: tuple[str, ...],
    wanted: tuple[int, int],
    nominal: dict[str, int],
) -> bool:
    """Whether no queue loses what its own quota is for, and one gains it or only less important ones go; or all who
    go are less important ones of its own.
    """
    if all(running[uid][0] == "left" and running[uid][2] < wanted[1] for uid in gone):
        return True
    after = {uid: each for uid, each in running.items() if uid not in gone}
    after["t"] = ("left", *wanted)
    age = {uid: -place for place, uid in enumerate((*running, "t"))}

    def covered(there: dict[str, tuple[str, int, int]], queue: str) -> list[tuple[int, int]]:
        left, found = nominal[queue], []
        for uid, (of, cpu, priority) in sorted(there.items(), key=lambda each: (-each[1][2], -age[each[0]])):
            if of == queue and cpu <= left:
                left -= cpu
                found.append((priority, age[uid]))
        return found

    pairs = [(covered(running, queue), covered(after, queue)) for queue in ("left", "right", "third")]
    if any(now < then for then, now in pairs):
        return False
    return any(now > then for then, now in pairs) or all(running[uid][2] < wanted[1] for uid in gone)


def test_no_fewer_could_go():
    found = 0
    for seed in range(examples(400, least=24, slow=True)):
        core, running, wanted, nominal = _draw_case(seed)
        result = core.run_round()
        fewest = _fewest(running, wanted, nominal)
        if "t" in _came(result):
            assert len(list_evicted(result)) == fewest, seed
            found += bool(fewest)
        else:
            assert fewest != 0, seed
    assert found > 5


# --- never in a circle ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("created", [5.0, 25.0])
def test_newer_is_who_was_created_later_in_whatever_order_tasks_arrive(created: float):
    """As after a restart of the solver, which hears of running tasks first."""
    policy = {"within": "LowerOrNewerEqualPriority"}
    core = scheduler(
        _cohort(policy, left=2000, lending={"any": {"cpu": 0}}, borrowing={"any": {"cpu": 0}}),
        ClassDefined(1, _class("left")),
        TasksBound("a", 1, ("ten", "twenty"), created=(10.0, 20.0)),
        TasksSubmitted(1, ("new",), created=(created,)),
    )
    assert list_evicted(core.run_round()) == ({"twenty"} if created < 20 else set())


def settle(core: Scheduler, classes: dict[str, tuple[int, Any, int]], most: int) -> int:
    """Run rounds as long as somebody is evicted, who then waits anew; returns how many were."""
    evicted = 0
    for _ in range(most):
        result = core.run_round()
        gone = list_evicted(result)
        evicted += len(gone)
        events: list[Event] = [TaskRemoved(uid) for uid in gone]
        for uid in gone:
            number, content, priority = classes[uid]
            events += [ClassDefined(number, content), TasksSubmitted(number, (uid,), priority=priority)]
        core.apply(events)
        came = {uid: at for uid, at in placed(result).items() if uid in _came(result)}
        core.apply(
            [TasksBound(at, classes[uid][0], (uid,), priority=classes[uid][2]) for uid, at in came.items()]
        )
        if not gone:
            return evicted
    raise AssertionError("they evict each other without end")


def test_a_cohort_takes_back_its_own_from_others_once():
    """Of those who go somebody always comes again, as a Deployment's replacements do."""
    policy = {"within": "LowerPriority", "reclaim": "Any"}
    core = scheduler(
        machine("a", cpu=20),
        machine("b", cpu=20),
        flavor("any"),
        quota("root"),
        quota("guaranteed", {"any": {"cpu": 6}}, parent="root"),
        quota("firm", {"any": {"cpu": 0}}, parent="guaranteed", preemption=policy),
        quota("free-a", {"any": {"cpu": 0}}, parent="root", preemption=policy),
        quota("free-b", {"any": {"cpu": 0}}, parent="root", preemption=policy),
    )
    classes: dict[str, tuple[int, Any, int]] = {
        "a1": (1, _class("free-a", 2), 0),
        "a2": (2, _class("free-a", 2), 0),
        "b1": (3, _class("free-b", 1), 0),
        "b2": (4, _class("free-b", 1), 0),
        "g1": (5, _class("firm", 1), 5),
        "g2": (6, _class("firm", 2), 5),
    }
    evicted = 0
    for uid, (number, content, priority) in classes.items():
        core.apply([ClassDefined(number, content), TasksSubmitted(number, (uid,), priority=priority)])
        evicted += settle(core, classes, 20)
    assert {state.name: state.state for state in core.task_states()}["g2"] == "BOUND"
    assert 2 <= evicted <= 3


def test_gangs_of_two_queues_without_quota_of_their_own_do_not_take_turns_evicting():
    policy = {"within": "LowerPriority", "reclaim": "Any"}
    core = scheduler(
        machine("a", cpu=20),
        flavor("any"),
        quota("cohort", {"any": {"cpu": 8}}),
        quota("first", {"any": {"cpu": 0}}, parent="cohort", preemption=policy, fair=True),
        quota("second", {"any": {"cpu": 0}}, parent="cohort", preemption=policy, fair=True),
    )
    evicted = 0
    sizes = [("first", 2)] * 4 + [("second", size) for size in (6, 5, 4, 3)]
    for number, (queue, size) in enumerate(sizes, 1):
        job = f"g{number}"
        core.apply(
            [
                JobDefined(Job(job, size=size, min_members=size)),
                ClassDefined(number, _class(queue, 1)),
                TasksSubmitted(number, uids(job, size), job=job),
            ]
        )
        for _ in range(5):
            evicted += len(list_evicted(core.run_round()))
    assert evicted == 0


def _run_loop(seed: int) -> None:
    draw = random.Random(seed)
    events: list[Event] = [machine("a", cpu=30), machine("b", cpu=6), flavor("any"), quota("cohort")]
    names = ["q0", "q1", "q2"]
    for name in names:
        policy = {
            "within": draw.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
            "reclaim": draw.choice(["Never", "LowerPriority", "Any"]),
            "borrow": {"policy": draw.choice(["Never", "LowerPriority"])},
        }
        stated = {"parent": "cohort", "preemption": policy, "fair": draw.random() < 0.3}
        events.append(quota(name, {"any": {"cpu": draw.randint(0, 5)}}, **stated))
    classes: dict[str, tuple[int, Any, int]] = {}
    core = scheduler(events)
    for step in range(draw.randint(3, 8)):
        uid = f"t{step}"
        classes[uid] = step + 1, _class(draw.choice(names), draw.randint(1, 5)), draw.randint(0, 2)
        number, content, priority = classes[uid]
        core.apply([ClassDefined(number, content), TasksSubmitted(number, (uid,), priority=priority)])
        settle(core, classes, 40)


def test_evictions_for_quota_end():
    for seed in range(examples(150, least=10, slow=True)):
        _run_loop(seed)


@pytest.mark.full
def test_evictions_for_quota_end_in_thousands_of_cases():
    for seed in range(1_000, 6_000):
        _run_loop(seed)


def test_a_gang_that_grows_takes_back_quota_and_does_not_evict_its_own():
    core = scheduler(
        _cohort(ANY),
        _bound(1, "right", *uids("r", 3), at="b"),
        JobDefined(Job("j", min_members=2)),
        ClassDefined(2, _class("left")),
        TasksBound("a", 2, ("l-0",), job="j"),
        TasksSubmitted(2, ("l-1",), job="j", priority=1),
    )
    result = core.run_round()
    [evicted] = list_evicted(result)
    assert evicted.startswith("r")
    assert set(_came(result)) == {"l-1"}
