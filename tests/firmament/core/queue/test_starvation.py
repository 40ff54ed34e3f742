"""A large task amid an endless stream of small ones is placed within a stated number of rounds.

The number: the rounds after which a place is reserved, plus the life of a small task in rounds (what runs on the
reserved machine must end), plus two (one in which the large task is found not to fit, one in which it is placed).
"""

from __future__ import annotations

from firmament.core.configuration import RoundOptions
from firmament.core.events import ClassDefined, MachineUpserted, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import Machine, TaskClass
from tests.oracle.cluster import PENDING
from tests.support.histories.pair import NO_RESERVATIONS, Pair

SLOTS = 4
LIFE = SLOTS
"""Rounds that a small task runs; one slot of each machine comes free per round, so none is ever empty by chance."""

SMALL, LARGE = 1, 2


class Stream:
    """Machines with four slots that small tasks fill, one ending per machine and round; more wait than can run."""

    def __init__(self, options: RoundOptions, machines: int, pinned: str = "") -> None:
        self.both = Pair(options)
        self.names = [f"m{index}" for index in range(machines)]
        self._ends: dict[int, list[str]] = {}
        self._rounds = 0
        self._count = 0
        self.both.apply(
            ClassDefined(SMALL, TaskClass(requests=(("cpu", 1),), runs_to_completion=True)),
            ClassDefined(LARGE, TaskClass(requests=(("cpu", SLOTS),), machine=pinned)),
            *(MachineUpserted(Machine(name, {"cpu": SLOTS, "pods": 20})) for name in self.names),
        )
        for name in self.names:
            for slot in range(SLOTS):
                uid = f"first-{name}-{slot}"
                self.both.apply(TasksBound(name, SMALL, (uid,)))
                self._ends.setdefault(slot + 1, []).append(uid)

    def round(self) -> dict[str, str]:
        """End what is due, submit more than there is room for, run a round; what was placed where."""
        self._rounds += 1
        fresh = tuple(f"small-{self._count + n}" for n in range(len(self.names) + 1))
        self._count += len(fresh)
        ended = self._ends.pop(self._rounds, [])
        self.both.apply(*(TaskRemoved(uid) for uid in ended), TasksSubmitted(SMALL, fresh))
        placed = {delta.uid: delta.machine for delta in self.both.round().deltas}
        self._ends.setdefault(self._rounds + LIFE, []).extend(uid for uid in placed if "small" in uid)
        return placed

    def last_for_ever(self, machine: str) -> None:
        """Let what runs in one slot of a machine never end."""
        uid = f"first-{machine}-{SLOTS - 1}"
        self._ends[SLOTS].remove(uid)

    def free(self, machine: str) -> int:
        return self.both.oracle.free(machine)["cpu"]


def rounds_until_placed(stream: Stream, most: int) -> int | None:
    """Rounds until the large task was placed; meanwhile the stream must use all of all machines but one."""
    for number in range(1, most + 1):
        if "large" in stream.round():
            return number
        assert sum(stream.free(name) > 0 for name in stream.names) <= 1
    return None


def test_without_reservations_it_would_wait_for_ever():
    stream = Stream(NO_RESERVATIONS, machines=4)
    stream.both.apply(TasksSubmitted(LARGE, ("large",)))
    assert rounds_until_placed(stream, 60) is None
    assert stream.both.oracle.tasks["large"].state == PENDING


def test_large_task_is_placed_within_the_stated_number_of_rounds():
    options = RoundOptions(reserve_after=0.0)
    stream = Stream(options, machines=4)
    stream.both.apply(TasksSubmitted(LARGE, ("large",)))
    assert rounds_until_placed(stream, options.reserve_after_rounds + LIFE + 2) is not None


def test_large_tasks_are_placed_one_after_another():
    options = RoundOptions(reserve_after_rounds=3, reserve_after=0.0)
    stream = Stream(options, machines=4)
    larges = ("large-0", "large-1", "large-2")
    stream.both.apply(TasksSubmitted(LARGE, larges))
    placed: set[str] = set()
    for _ in range(options.reserve_after_rounds + len(larges) * (LIFE + 2)):
        placed |= set(stream.round()) & set(larges)
    assert placed == set(larges)


def test_more_important_small_tasks_may_still_use_a_reserved_machine():
    stream = Stream(RoundOptions(reserve_after_rounds=2, reserve_after=0.0), machines=1)
    stream.both.apply(TasksSubmitted(LARGE, ("large",)))
    for _ in range(4):
        stream.round()
    assert stream.free("m0") > 0
    stream.both.apply(TasksSubmitted(SMALL, ("urgent",), priority=1))
    assert stream.both.round().deltas[0].uid == "urgent"


def test_reservation_that_leads_nowhere_lapses_and_frees_the_machine():
    stream = Stream(
        RoundOptions(reserve_after_rounds=2, reserve_after=0.0, reserve_for_rounds=3), machines=2, pinned="m0"
    )
    stream.last_for_ever("m0")
    stream.both.apply(TasksSubmitted(LARGE, ("large",)))
    free = []
    for _ in range(12):
        stream.round()
        free.append(stream.free("m0"))
        assert stream.free("m1") == 0
    closed = next(index for index, room in enumerate(free) if room > 0)
    assert 0 in free[closed:], "the machine stays closed although the reservation leads nowhere"


def test_reservation_ends_with_its_task():
    stream = Stream(RoundOptions(reserve_after_rounds=2, reserve_after=0.0), machines=2)
    stream.both.apply(TasksSubmitted(LARGE, ("large",)))
    while not any(stream.free(name) for name in stream.names):
        stream.round()
    stream.both.apply(TaskRemoved("large"))
    assert stream.both.scheduler.next_round_in() == 0
    stream.round()
    assert not any(stream.free(name) for name in stream.names)


def test_room_on_a_reserved_machine_wakes_nobody_who_may_not_use_it():
    both = Pair(RoundOptions(reserve_after_rounds=1, reserve_after=0.0))
    both.apply(
        ClassDefined(SMALL, TaskClass(requests=(("cpu", 1),), runs_to_completion=True)),
        ClassDefined(LARGE, TaskClass(requests=(("cpu", SLOTS),), machine="m0")),
        *(MachineUpserted(Machine(name, {"cpu": SLOTS, "pods": 20})) for name in ("m0", "m1")),
        TasksBound("m0", SMALL, tuple(f"running-{slot}" for slot in range(SLOTS))),
        TasksSubmitted(LARGE, ("large",)),
    )
    both.settle()
    both.apply(TasksSubmitted(SMALL, tuple(f"small-{n}" for n in range(SLOTS + 1))))
    both.settle()
    assert both.scheduler.next_round_in() == RoundOptions().reserve_for
    both.apply(TaskRemoved("running-0"))
    assert both.scheduler.next_round_in() == RoundOptions().reserve_for
    both.apply(*(TaskRemoved(f"running-{slot}") for slot in range(1, SLOTS)))
    assert [(delta.uid, delta.machine) for delta in both.round().deltas] == [("large", "m0")]
