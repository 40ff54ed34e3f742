"""Elections by one Lease: nobody leads beside another, whatever is late, lost or turned back."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

import pytest
from msgspec.structs import replace

from poseidon.kube.api.coordination import Lease, LeaseSpec
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.leadership.election import FENCING, Election, LeaseWrite, Role
from poseidon.leadership.options import LeaderElectionOptions
from tests.support.effort import examples

OPTIONS = LeaderElectionOptions(leader_elect=True)
NAMES = ("a", "b", "c")
PATIENCE = 5.0
HOUR = 3_600_000
"""In milliseconds, as fencing numbers are."""


class Clock:
    """A clock that is turned by hand."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def candidate(name: str = "a", clock: Callable[[], float] | None = None, wall: float = 1e6) -> Election:
    clock = clock or Clock()
    return Election(name, OPTIONS, namespace="x", clock=clock, wall=lambda: wall + clock(), random=Random(1))


def held(by: str, version: str = "1", renewed: str = "t0", fencing: str = "7") -> Lease:
    metadata = ObjectMeta(name="poseidon", resource_version=version, annotations={FENCING: fencing})
    return Lease(metadata, LeaseSpec(by, 15, "t", renewed, 3))


def elected(clock: Clock, name: str = "a") -> Election:
    election = candidate(name, clock)
    write = election.next_write()
    assert write is not None
    election.note_written(write, write.lease)
    assert election.role is Role.LEADER
    return election


def test_the_first_creates_the_lease_and_leads():
    clock = Clock()
    election = candidate(clock=clock)
    assert (election.role, election.fencing, election.deadline) == (Role.STANDBY, 0, float("-inf"))
    election.observe(None)
    write = election.next_write()
    assert write is not None
    assert not write.lease.metadata.resource_version
    assert write.lease.spec == LeaseSpec(
        "a", 15, "1970-01-12T13:46:40.000000Z", "1970-01-12T13:46:40.000000Z", 0
    )
    assert not election.may_write()
    election.note_written(write, write.lease)
    assert election.may_write()
    assert election.fencing == 10**9


def test_a_held_lease_is_left_alone_until_it_has_not_changed_for_as_long_as_it_states():
    clock = Clock()
    election = candidate(clock=clock)
    election.observe(held("b"))
    clock.now = 14.0
    assert election.next_write() is None
    election.observe(held("b", "2", renewed="t1"))
    clock.now = 28.9
    assert election.next_write() is None
    assert election.due() == pytest.approx(29.0)
    clock.now = 29.0
    write = election.next_write()
    assert write is not None
    assert write.lease.metadata.resource_version == "2"
    assert write.lease.spec.lease_transitions == 4


@pytest.mark.parametrize("configured", [15.0, 20.0, 60.0, 3600.0])
@pytest.mark.parametrize("stated", [121, 2**31 - 1, 2**62])
def test_a_lease_of_a_ghost_is_taken_after_the_bound_whatever_it_states(configured: float, stated: int):
    clock = Clock()
    options = LeaderElectionOptions(leader_elect=True, lease_duration=configured)
    election = Election(
        "a", options, namespace="x", clock=clock, wall=lambda: 1e6 + clock(), random=Random(1)
    )
    ghost = held("ghost")
    election.observe(replace(ghost, spec=replace(ghost.spec, lease_duration_seconds=stated)))
    bound = min(stated, max(120.0, 4 * configured))
    assert election.due() == pytest.approx(bound)
    clock.now = bound - 0.1
    assert election.next_write() is None
    clock.now = bound
    write = election.next_write()
    assert write is not None
    assert write.lease.spec.holder_identity == "a"
    assert write.lease.spec.lease_duration_seconds == configured


def test_a_lease_that_nobody_holds_is_taken_at_once():
    election = candidate()
    election.observe(held(""))
    assert election.next_write() is not None


def test_a_lease_that_is_told_again_unchanged_goes_on_running_out():
    clock = Clock()
    election = candidate(clock=clock)
    election.observe(held("b"))
    clock.now = 10.0
    election.observe(held("b", version="2"))
    assert election.due() == pytest.approx(15.0)


def test_a_leader_renews_every_retry_period_and_may_write_until_the_deadline_from_when_the_last_renewal_began():
    clock = Clock()
    election = elected(clock)
    assert election.next_write() is None
    clock.now = 2.0
    write = election.next_write()
    assert write is not None
    clock.now = 5.0  # the answer was slow
    election.note_written(write, write.lease)
    assert election.deadline == pytest.approx(12.0)
    assert election.due() == pytest.approx(4.0)
    clock.now = 11.9
    assert election.may_write()
    clock.now = 12.0
    assert not election.may_write()


def test_who_has_not_renewed_in_time_never_leads_again():
    clock = Clock()
    election = elected(clock)
    clock.now = 10.0
    assert election.next_write() is None
    assert election.role is Role.ENDED
    election.observe(None)
    assert election.next_write() is None


def test_a_leader_who_is_told_of_another_makes_sure_before_it_ends():
    clock = Clock()
    election = elected(clock)
    clock.now = 1.0
    election.observe(held("b"))
    assert election.may_write()
    assert election.next_write() is not None
    election.note_overtaken(held("b", "9"))
    assert not election.may_write()
    assert election.role is Role.ENDED
    assert election.due() <= clock()


def test_a_leader_whose_lease_was_deleted_creates_it_anew():
    clock = Clock()
    election = elected(clock)
    clock.now = 1.0
    election.observe(None)
    assert election.next_write() is not None
    election.note_overtaken(None)
    clock.now = 1.2
    write = election.next_write()
    assert write is not None
    assert not write.lease.metadata.resource_version
    assert write.lease.metadata.annotations == {FENCING: str(election.fencing)}


@pytest.mark.parametrize(
    ("former", "expected"),
    [
        ("7", 10**9),
        (str(10**9 + 5000), 10**9 + 5001),
        (str(10**9 + HOUR), 10**9 + HOUR + 1),
        (str(10**9 + HOUR + 1), 10**9),
        ("x", 10**9),
        (str(10**15), 10**9),
        ("9" * 5000, 10**9),
    ],
    ids=["older", "ahead", "an hour ahead", "more than an hour", "no number", "out of reach", "endless"],
)
def test_fencing_numbers_grow_from_leader_to_leader(former: str, expected: int):
    clock = Clock()
    election = candidate(clock=clock)
    election.observe(held("", fencing=former))
    write = election.next_write()
    assert write is not None
    election.note_written(write, write.lease)
    assert election.fencing == expected


def test_a_leader_that_gives_the_lease_back_writes_nothing_more():
    clock = Clock()
    election = elected(clock)
    lease = election.release()
    assert lease is not None
    assert (lease.spec.holder_identity, lease.spec.lease_duration_seconds) == ("", 1)
    assert lease.metadata.annotations == {FENCING: str(election.fencing)}
    assert not election.may_write()
    assert candidate().release() is None


def test_a_renewal_states_since_when_the_leader_leads_and_counts_no_change_of_leader():
    clock = Clock()
    election = elected(clock)
    first = election.next_write()
    assert first is None
    clock.now = 2.0
    renewal = election.next_write()
    assert renewal is not None
    assert renewal.lease.spec == LeaseSpec(
        "a", 15, "1970-01-12T13:46:40.000000Z", "1970-01-12T13:46:42.000000Z", 0
    )


def test_who_has_tried_to_take_a_lease_that_ran_out_pauses_before_the_next_try():
    clock = Clock()
    election = candidate(clock=clock)
    election.observe(held("b"))
    clock.now = 15.0
    assert election.next_write() is not None
    assert election.next_write() is None
    assert election.due() == pytest.approx(17.0 + 0.4 * Random(1).random())


def test_a_lease_that_an_unanswered_write_of_ones_own_has_taken_is_no_reason_to_wait():
    election = candidate()
    election.observe(held("a"))
    assert election.next_write() is not None


def test_news_of_another_writer_puts_no_try_off():
    clock = Clock()
    election = elected(clock)
    clock.now = 2.0
    assert election.next_write() is not None
    clock.now = 3.95
    election.note_overtaken(None)
    assert election.due() == pytest.approx(4.0)


def test_a_lease_given_back_keeps_the_count_of_its_leaders():
    clock = Clock()
    election = candidate(clock=clock)
    election.observe(held(""))
    write = election.next_write()
    assert write is not None
    election.note_written(write, write.lease)
    lease = election.release()
    assert lease is not None
    assert lease.spec.lease_transitions == 4


def test_a_leader_past_its_deadline_has_nothing_to_give_back():
    clock = Clock()
    election = elected(clock)
    clock.now = 10.0
    assert election.release() is None


@pytest.mark.parametrize(("configured", "stated"), [(15.4, 15), (15.6, 16), (1.0, 1)])
def test_a_lease_states_whole_seconds(configured: float, stated: int):
    options = LeaderElectionOptions(lease_duration=configured, renew_deadline=0.9, retry_period=0.1)
    election = Election("a", options, namespace="x", clock=Clock(), wall=lambda: 1e6, random=Random(1))
    write = election.next_write()
    assert write is not None
    assert write.lease.spec.lease_duration_seconds == stated


# --- all of it at once -----------------------------------------------------------------------------------------------


@dataclass
class World:
    """A Lease with versions, and candidates that reach it over a network that delays and loses, by skewed clocks."""

    random: Random
    now: float = 0.0
    lease: Lease | None = None
    version: int = 0
    queue: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    watchers: dict[str, Election] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    leaders: set[str] = field(default_factory=set)
    fencing: list[int] = field(default_factory=list)
    count: int = 0
    calm: bool = False
    kind: type[Election] = Election

    def later(self, seconds: float, what: Callable[[], None]) -> None:
        self.count += 1
        heapq.heappush(self.queue, (self.now + seconds, self.count, what))

    def delay(self) -> float:
        if self.calm or self.random.random() < 0.8:
            return self.random.uniform(0.001, 0.1)
        return self.random.uniform(0.1, 30.0)

    def lost(self) -> bool:
        return not self.calm and self.random.random() < 0.15

    def join(self, name: str) -> None:
        offset = self.random.uniform(-1e5, 1e5)
        rate = self.random.uniform(0.99, 1.01)
        skew = self.random.uniform(-1500, 1500)
        election = self.kind(
            name,
            OPTIONS,
            namespace="x",
            clock=lambda: self.now * rate + offset,
            wall=lambda: 1e9 + self.now + skew,
            random=Random(self.random.random()),
        )
        self.watchers[name] = election
        self.later(self.delay(), lambda: self.act(name, election))

    def act(self, name: str, election: Election) -> None:
        if self.watchers.get(name) is not election:
            return
        write = election.next_write()
        if election.role is Role.ENDED:
            self.leave(name)
            return
        if write is None:
            hangs = not self.calm and self.random.random() < 0.01
            self.later(self.random.uniform(0.05, 40.0 if hangs else 0.5), lambda: self.act(name, election))
            return
        answered: list[bool] = []

        def answer(take: Callable[[], None]) -> None:
            """An answer within the patience of the client, or the end of that."""
            if not answered:
                answered.append(True)
                take()
                self.act(name, election)

        self.later(self.delay(), lambda: self.arrive(election, write, answer))
        self.later(PATIENCE, lambda: answer(lambda: None))

    def leave(self, name: str) -> None:
        del self.watchers[name]
        self.count += 1
        again = f"{name.partition('.')[0]}.{self.count}"
        self.later(self.random.uniform(0.5, 5.0), lambda: self.join(again))

    def arrive(
        self, election: Election, write: LeaseWrite, answer: Callable[[Callable[[], None]], None]
    ) -> None:
        """A request comes to the API server, perhaps long after its sender has given it up."""
        if self.lost():
            return
        have = self.lease.metadata.resource_version if self.lease is not None else ""
        if write.lease.metadata.resource_version != have:
            found = self.lease
            self.later(self.delay(), lambda: answer(lambda: election.note_overtaken(found)))
            return
        self.put(write.lease)
        stored = self.lease
        if not self.lost():
            assert stored is not None
            self.later(self.delay(), lambda: answer(lambda: election.note_written(write, stored)))

    def put(self, lease: Lease | None) -> None:
        self.version += 1
        if lease is not None:
            lease = replace(lease, metadata=replace(lease.metadata, resource_version=str(self.version)))
        self.lease = lease
        for election in self.watchers.values():
            if not self.lost():
                self.later(self.delay(), partial(election.observe, lease))

    def check(self) -> None:
        writing = {name for name, each in self.watchers.items() if each.may_write()}
        if len(writing) > 1:
            self.faults.append(f"{self.now:.2f}: {sorted(writing)} lead at a time")
        for name in writing - self.leaders:
            if self.watchers[name].fencing not in self.fencing[-1:]:
                self.fencing.append(self.watchers[name].fencing)
        self.leaders = writing

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self.queue and self.queue[0][0] < end:
            self.now, _, what = heapq.heappop(self.queue)
            what()
            self.check()


def history(seed: int, kind: type[Election] = Election) -> World:
    """Ten minutes of trouble, in which candidates end in order or are killed; then two calm ones."""
    random = Random(seed)
    world = World(random, kind=kind)
    for name in NAMES:
        world.join(name)
    for _ in range(30):
        world.run(random.uniform(5, 35))
        draw, name = random.random(), random.choice(sorted(world.watchers) or [""])
        if draw < 0.2 and name:
            world.leave(name)
        elif draw < 0.3 and name:
            lease = world.watchers[name].release()
            if lease is not None and world.lease is not None:
                world.put(lease)
            world.leave(name)
    world.calm = True
    world.run(120.0)
    return world


@pytest.mark.parametrize("block", range(4))
def test_nobody_leads_beside_another_and_somebody_leads_in_the_end(block: int):
    faults = []
    for seed in range(block, examples(200), 4):
        world = history(seed)
        faults += [f"{seed}: {each}" for each in world.faults]
        if len(world.leaders) != 1:
            faults.append(f"{seed}: {len(world.leaders)} lead after two calm minutes")
        if sorted(set(world.fencing)) != world.fencing:
            faults.append(f"{seed}: fencing numbers {world.fencing}")
    assert faults == []


class Overdue(Election):
    """Goes on after its deadline."""

    def may_write(self) -> bool:
        return self.role is Role.LEADER


class Impatient(Election):
    """Takes over before the Lease has run out."""

    def due(self) -> float:
        return super().due() - 6.0


@pytest.mark.parametrize("kind", [Overdue, Impatient])
def test_a_candidate_that_breaks_the_rules_is_found(kind: type[Election]):
    assert any(history(seed, kind).faults for seed in range(20))


@pytest.mark.parametrize(("ahead", "believed"), [(3_600_000, False), (3_600_001, True)])
def test_a_number_more_than_an_hour_ahead_of_the_clock_is_nobodys(ahead: int, believed: bool):
    now = 10**9
    clock = Clock()
    election = candidate(clock=clock)
    election.observe(held("", fencing=str(now + ahead)))
    write = election.next_write()
    assert write is not None
    election.note_written(write, write.lease)
    assert election.fencing == (now if believed else now + ahead + 1)


def test_who_was_outrun_asks_again_soon_and_not_at_once():
    clock = Clock()
    election = candidate(clock=clock)
    election.observe(None)
    assert election.next_write() is not None
    election.note_overtaken(held("", version="2"))
    assert election.next_write() is None
    clock.now += 0.05
    assert election.next_write() is None
    clock.now += 0.06
    assert election.next_write() is not None
