"""Room kept for whole gangs amid small tasks that come and go.

The bound: a gang is placed at the latest once every task that ran on the machines that were reserved for it has ended.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    JobDefined,
    MachineRemoved,
    TaskRemoved,
    TasksSubmitted,
)
from firmament.core.model import HostPort, Job, TaskClass
from firmament.core.results import DeltaKind
from firmament.core.scheduler import Scheduler
from tests.support.core import Clock, machine, scheduler, task_class, uids

SLOTS, LIFE = 4, 16.0
START = 1_000_000.0
SMALL = task_class(cpu=1000, runs_to_completion=True)
OPTIONS = RoundOptions(reserve_after=20.0, reserve_for=100.0)
"""A third of the defaults, which are 8 rounds over a minute, for at most five minutes: as many rounds fewer to run."""


class Stream:
    """Machines that small tasks fill, of which some end each second while more wait than can run.

    Every task, those of gangs too, runs for ``LIFE`` seconds, or very long on machines that are ``slow``. Placements
    are bound at once, and no machine ever has more than it has room for. ``where``: the machines of tasks that run;
    ``placed``: of all.
    """

    def __init__(
        self,
        machines: int = 8,
        *,
        options: RoundOptions = OPTIONS,
        slow: frozenset[str] = frozenset(),
        small: TaskClass = SMALL,
    ) -> None:
        self.clock = Clock(START)
        self.names = [f"m{at}" for at in range(machines)]
        self.core: Scheduler = scheduler(
            *(machine(name, cpu=1000 * SLOTS) for name in self.names),
            ClassDefined(1, small),
            options=options,
            clock=self.clock,
        )
        self.slow = slow
        self._ends, self._count = dict[str, float](), 0
        self.where: dict[str, str] = {}
        self.placed: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._fill()

    def _fill(self) -> None:
        """Begin with tasks that end one after another, each slot at a time of its own."""
        slots = len(self.names) * SLOTS
        self.core.apply([TasksSubmitted(1, uids("first", slots))])
        self.round()
        for at, uid in enumerate(sorted(uid for uid in self.where if uid.startswith("first"))):
            self._ends[uid] = self.clock() + self.life(self.where[uid]) * (at + 1) / slots

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return self.clock() - START

    def life(self, machine: str) -> float:
        """How long a task on a machine lasts."""
        return 10_000.0 if machine in self.slow else LIFE

    def gang(
        self,
        name: str,
        count: int,
        *,
        cls: int = 1,
        namespace: str = "",
        priority: int = 0,
        need=None,
        by_name=False,
    ) -> None:
        """Let a gang come. ``by_name``: only names of tasks say their namespace, as where no rule reads it."""
        names: tuple[str, ...] = ()
        if namespace and by_name:
            names = tuple(f"{namespace}/{each}" for each in uids(name, count))
        elif namespace:
            cls = self._numbers.setdefault(namespace, 100 + len(self._numbers))
            self.core.apply([ClassDefined(cls, replace(SMALL, namespace=namespace))])
        self.core.apply(
            [
                JobDefined(Job(name, name=name, min_members=need or count)),
                TasksSubmitted(cls, uids(name, count), job=name, priority=priority, names=names),
            ]
        )

    def round(self) -> None:
        """Run a round, and bind what it places."""
        result = self.core.run_round()
        placed = [delta for delta in result.deltas if delta.kind is DeltaKind.PLACE]
        self.core.report([BindingReport(each.uid, each.machine, bound=True) for each in placed])
        for each in placed:
            self.where[each.uid] = self.placed[each.uid] = each.machine
            self._ends.setdefault(each.uid, self.clock() + self.life(each.machine))
        assert max(Counter(self.where.values()).values(), default=0) <= SLOTS

    def second(self) -> None:
        """Let a second pass: what is due ends, as much is submitted, a round is run."""
        self.clock.now += 1.0
        for uid in [uid for uid, end in self._ends.items() if end <= self.clock()]:
            del self._ends[uid], self.where[uid]
            self.core.apply([TaskRemoved(uid)])
        waiting = self.core.counts().pending
        fresh = max(0, 2 * SLOTS - waiting) + 2
        self._count += fresh
        self.core.apply([TasksSubmitted(1, tuple(f"small-{self._count - at}" for at in range(fresh)))])
        self.round()

    def until(self, *gangs: str, most: float) -> dict[str, float]:
        """Seconds until each gang was placed as a whole; never a part of one."""
        found: dict[str, float] = {}
        while len(found) < len(gangs) and self.now < most:
            self.second()
            for name in gangs:
                if f"{name}-0" in self.placed:
                    found.setdefault(name, self.now)
        return found

    def reserved(self) -> dict[str, frozenset[str]]:
        held = self.core._requeue.reservations.gangs.held
        return {name: each.machines for name, each in held.items()}


BOUND = OPTIONS.reserve_after + LIFE + 2 * OPTIONS.reserve_after / OPTIONS.reserve_after_rounds
"""Until a reservation, plus the life of what runs there, plus what the spacing of rounds adds."""


def test_without_reservations_a_gang_waits_for_ever():
    stream = Stream(options=replace(OPTIONS, reserve_after_rounds=10**9))
    stream.gang("large", 16)
    assert stream.until("large", most=2 * BOUND) == {}


@pytest.mark.parametrize("count", [2, 5, 16, 32])
def test_a_gang_is_placed_within_the_bound(count: int):
    stream = Stream()
    stream.gang("large", count)
    assert stream.until("large", most=BOUND).keys() == {"large"}


def test_the_machines_are_chosen_once_and_are_no_more_than_it_takes():
    stream = Stream()
    stream.gang("large", 8)
    seen = set()
    while "large-0" not in stream.placed and stream.now < BOUND:
        stream.second()
        seen |= set(stream.reserved().values())
        for name in stream.names:
            full = sum(machine == name for machine in stream.where.values()) == SLOTS
            assert (
                full or any(name in kept for kept in stream.reserved().values()) or "large-0" in stream.placed
            )
    [machines] = seen
    assert len(machines) == 2
    assert {stream.placed[uid] for uid in uids("large", 8)} == machines
    stream.core.next_round_in()
    assert stream.reserved() == {}


def test_a_gang_of_other_tasks_than_the_stream_is_placed_too():
    stream = Stream()
    stream.core.apply([ClassDefined(2, task_class(cpu=3000))])
    stream.gang("wide", 4, cls=2)
    assert stream.until("wide", most=BOUND).keys() == {"wide"}


def test_a_gang_whose_members_must_be_apart_gets_machines_for_each():
    stream = Stream()
    stream.core.apply([ClassDefined(2, task_class(cpu=1000, ports=(HostPort(80),)))])
    stream.gang("apart", 6, cls=2)
    assert stream.until("apart", most=BOUND).keys() == {"apart"}
    assert len({stream.placed[uid] for uid in uids("apart", 6)}) == 6


@pytest.mark.parametrize("by_name", [False, True])
def test_namespaces_take_turns(by_name: bool):
    stream = Stream()
    for at in range(6):
        stream.gang(f"greedy-{at}", 16, namespace="greedy", by_name=by_name)
    stream.gang("modest", 16, namespace="modest", by_name=by_name)
    found = stream.until("modest", most=2 * BOUND)
    assert found.keys() == {"modest"}
    greedy = [at for at in range(6) if f"greedy-{at}-0" in stream.placed]
    assert len(greedy) <= 2


@pytest.mark.parametrize("machines", [5, 6, 8])
def test_they_do_where_there_is_no_room_beside_what_is_kept(machines: int):
    stream = Stream(machines=machines)
    for at in range(3):
        stream.gang(f"greedy-{at}", 16, namespace="greedy", by_name=True)
    stream.gang("modest", 16, namespace="modest", by_name=True)
    assert stream.until("modest", most=2 * BOUND).keys() == {"modest"}
    assert [at for at in range(3) if f"greedy-{at}-0" in stream.placed] == [0]


def test_one_that_has_room_nowhere_keeps_nobody_waiting():
    stream = Stream(machines=6)
    stream.gang("first", 16, namespace="a")
    stream.gang("hopeless", 25, namespace="b")
    stream.gang("last", 16, namespace="c")
    assert stream.until("last", most=2 * BOUND).keys() == {"last"}
    assert "hopeless-0" not in stream.placed


def test_a_large_gang_is_not_kept_waiting_by_small_ones_for_ever():
    stream = Stream(machines=20)
    for at in range(12):
        stream.gang(f"little-{at}", 4, namespace="a")
    stream.gang("large", 64, namespace="b")
    assert stream.until("large", most=4 * BOUND).keys() == {"large"}


def test_more_important_tasks_may_use_what_is_kept():
    stream = Stream()
    stream.gang("large", 16)
    while not stream.reserved():
        stream.second()
    kept = next(iter(stream.reserved().values()))
    while all(sum(at == name for at in stream.where.values()) == SLOTS for name in kept):
        stream.second()
    stream.core.apply([TasksSubmitted(1, ("urgent",), priority=5)])
    stream.second()
    assert stream.placed["urgent"] in kept


def test_nothing_is_kept_where_what_runs_is_not_expected_to_end():
    stream = Stream(small=task_class(cpu=1000))
    stream.gang("large", 16)
    for _ in range(int(BOUND)):
        stream.second()
        assert stream.reserved() == {}


def test_a_gang_that_lacks_members_gets_nothing_kept():
    stream = Stream()
    stream.gang("large", 15, need=16)
    for _ in range(int(BOUND)):
        stream.second()
        assert stream.reserved() == {}


def test_what_is_kept_lapses_and_the_gang_counts_anew():
    options = replace(OPTIONS, reserve_for=30.0)
    stream = Stream(slow=frozenset(f"m{at}" for at in range(7)), options=options)
    stream.gang("large", 16)
    begun, ended, before = list[float](), list[float](), dict[str, frozenset[str]]()
    while len(begun) < 2:
        stream.second()
        now = stream.reserved()
        if now and not before:
            begun.append(stream.now)
        elif before and not now:
            ended.append(stream.now)
        before = now
    assert options.reserve_for <= ended[0] - begun[0] <= options.reserve_for + 2
    assert begun[1] - ended[0] >= OPTIONS.reserve_after - OPTIONS.reserve_after / OPTIONS.reserve_after_rounds


def test_machines_whose_tasks_have_run_for_long_come_last():
    stream = Stream(slow=frozenset(f"m{at}" for at in range(4)))
    stream.gang("large", 16)
    assert stream.until("large", most=2 * BOUND).keys() == {"large"}
    assert {stream.placed[uid] for uid in uids("large", 16)} == {"m4", "m5", "m6", "m7"}


def test_a_machine_that_goes_is_replaced():
    stream = Stream()
    stream.gang("large", 8)
    while not stream.reserved():
        stream.second()
    gone = min(next(iter(stream.reserved().values())))
    stream.core.apply([MachineRemoved(gone)])
    for uid in [uid for uid, name in stream.where.items() if name == gone]:
        stream.core.apply([TaskRemoved(uid)])
        del stream.where[uid]
        stream._ends.pop(uid, None)
    stream.second()
    stream.second()
    [machines] = stream.reserved().values()
    assert gone not in machines
    assert stream.until("large", most=stream.now + LIFE + 5).keys() == {"large"}


def test_what_is_kept_ends_with_the_gang():
    stream = Stream()
    stream.gang("large", 16)
    while not stream.reserved():
        stream.second()
    stream.core.apply([TaskRemoved(uid) for uid in uids("large", 16)])
    stream.second()
    assert stream.reserved() == {}


def test_no_round_of_its_own_looks_for_room_for_each_of_many_gangs_that_are_alike():
    stream = Stream(machines=6)
    for at in range(40):
        stream.gang(f"hopeless-{at}", 25)
    for _ in range(int(2 * OPTIONS.reserve_after)):
        stream.second()
        rounds = 0
        while stream.core.next_round_in() == 0.0:
            stream.round()
            rounds += 1
        assert rounds <= 2
    assert stream.reserved() == {}
