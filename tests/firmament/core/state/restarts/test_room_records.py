"""Room that is kept for gangs that restart: free for their new members, taken for others of their priority or less."""

from __future__ import annotations

import itertools
import json
import random

import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import (
    ClassDefined,
    JobDefined,
    RecordRemoved,
    RecordUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import HostPort, Job, JobGroup, TaskClaim
from firmament.core.record_kinds import RESTART_ROOM_RECORD
from firmament.core.results import DeltaKind
from tests.support.core import Clock, machine, messages, scheduler, task_class
from tests.support.effort import examples

UNTIL = "2026-01-01T00:01:00Z"


def kept(uid, at, *, cpu, job="g", priority=0, ports=(), devices=False, until=UNTIL):
    payload = {
        "machine": at,
        "job": job,
        "priority": priority,
        "requests": {"cpu": cpu, "pods": 1},
        "ports": ports,
        "devices": devices,
        "namespace": "ours",
        "name": f"ours/{job}",
        "until": until,
    }
    return RecordUpserted(RESTART_ROOM_RECORD, uid, json.dumps(payload).encode())


def gone(uid):
    return RecordRemoved(RESTART_ROOM_RECORD, uid)


def gang(name="g", need=2, **described):
    return JobDefined(Job(name, min_members=need, namespace="ours", **described))


def tasks(number, *uids, cpu, priority=0, job="", namespace="ours", **content):
    names = tuple(f"{namespace}/{uid}" for uid in uids)
    submitted = TasksSubmitted(number, uids, priority=priority, job=job, names=names)
    return [ClassDefined(number, task_class(cpu, **content)), submitted]


def rounds(made, told=None):
    """Run rounds until nothing is left to do; returns where each task was placed. ``told``: gets the messages."""
    placed: dict[str, str] = {}
    for _ in range(50):
        if made.next_round_in() != 0.0:
            return placed
        result = made.run_round()
        for delta in result.deltas:
            assert delta.kind is DeltaKind.PLACE
            placed[delta.uid] = delta.machine
        if told is not None:
            told.update(messages(result))
    raise AssertionError("the rounds do not come to an end")


def test_others_get_what_is_not_kept_until_it_is_no_longer_kept():
    made = scheduler([machine("m", cpu=4)], [kept("old", "m", cpu=3)], tasks(1, "large", cpu=2))
    assert rounds(made) == {}
    made.apply(tasks(2, "small", cpu=1))
    assert rounds(made) == {"small": "m"}
    made.apply([gone("old")])
    assert rounds(made) == {"large": "m"}


def test_new_members_take_the_room_although_others_have_waited_longer():
    made = scheduler(
        [machine("m", cpu=4), machine("n", cpu=4)],
        [gang(), kept("old-0", "m", cpu=4), kept("old-1", "n", cpu=4)],
        tasks(1, "rival-0", "rival-1", cpu=4),
    )
    assert rounds(made) == {}
    made.apply(tasks(2, "new-0", "new-1", cpu=4, job="g"))
    assert sorted(rounds(made).items()) == [("new-0", "m"), ("new-1", "n")]


def test_equal_tasks_that_come_together_with_new_members_do_not_take_their_room():
    """Members and rivals are of one class: only the gang tells them apart."""
    made = scheduler(
        [machine("m", cpu=4), machine("n", cpu=4)],
        [gang("g"), gang("h"), kept("old-0", "m", cpu=4), kept("old-1", "n", cpu=4)],
        tasks(1, "rival-0", "rival-1", cpu=4, job="h"),
        tasks(1, "new-0", "new-1", cpu=4, job="g"),
        tasks(1, "single", cpu=4),
    )
    assert sorted(rounds(made)) == ["new-0", "new-1"]


def test_a_member_beyond_the_least_number_takes_its_room_back():
    """Two of three members run, and two are enough: the third is no gang in its round."""
    made = scheduler(
        [machine("m", cpu=4), machine("n", cpu=4), machine("o", cpu=4)],
        [gang(), ClassDefined(1, task_class(4))],
        [TasksBound("m", 1, ("run-0",), job="g"), TasksBound("n", 1, ("run-1",), job="g")],
        [kept("old", "o", cpu=4), TasksSubmitted(1, ("rival-0", "rival-1"))],
    )
    assert rounds(made) == {}
    made.apply([TasksSubmitted(1, ("new",), job="g"), TasksSubmitted(1, ("rival-2",))])
    assert rounds(made) == {"new": "o"}


def test_an_incomplete_gang_does_not_lose_its_room_while_it_waits_for_members():
    made = scheduler(
        [machine("m", cpu=4), machine("n", cpu=4)],
        [gang(), kept("old-0", "m", cpu=4), kept("old-1", "n", cpu=4)],
        tasks(1, "rival", cpu=4),
        tasks(2, "new-0", cpu=4, job="g"),
    )
    assert rounds(made) == {}
    made.apply(tasks(2, "new-1", cpu=4, job="g"))
    assert sorted(rounds(made)) == ["new-0", "new-1"]


def test_a_tree_comes_back_into_its_domain():
    """Rack b is the tighter one and has room, but not for both members beside what a rival could take of rack a."""
    racks = [machine(f"{rack}{index}", cpu=4, labels={"rack": rack}) for rack in "ab" for index in (0, 1)]
    made = scheduler(
        racks,
        [gang(groups=(JobGroup("all", least=2, within=("rack",)),))],
        [kept("old-0", "a0", cpu=4), kept("old-1", "a1", cpu=4), ClassDefined(1, task_class(4))],
        [TasksBound("b0", 1, ("there",)), TasksSubmitted(1, ("rival-0", "rival-1"))],
    )
    assert rounds(made) == {"rival-0": "b1"} or rounds(made) == {}
    made.apply(tasks(2, "new-0", "new-1", cpu=4, job="g", group="all"))
    assert sorted(rounds(made).items()) == [("new-0", "a0"), ("new-1", "a1")]


def test_who_is_more_important_may_take_the_room_and_others_are_not_let_in_beside():
    made = scheduler(
        [machine("m", cpu=4), machine("n", cpu=2)],
        [kept("old", "m", cpu=3, priority=5)],
        tasks(1, "less", cpu=2, priority=4),
        tasks(2, "more", cpu=4, priority=6),
    )
    assert rounds(made) == {"more": "m", "less": "n"}


def test_a_rival_gets_what_is_beside_the_room_in_the_round_after_the_members():
    """The record is still there, but what the member uses by decision is no longer kept besides."""
    made = scheduler(
        [machine("m", cpu=4)],
        [gang(need=1), kept("old", "m", cpu=3)],
        tasks(1, "new", cpu=3, job="g"),
        tasks(2, "small", cpu=1),
    )
    assert rounds(made) == {"new": "m", "small": "m"}
    made.apply([gone("old")])
    assert rounds(made) == {}


def test_a_rival_gets_what_is_beside_the_room_even_if_the_members_find_no_place():
    made = scheduler(
        [machine("m", cpu=4)],
        [gang(), kept("old", "m", cpu=3)],
        tasks(1, "new-0", "new-1", cpu=3, job="g"),
        tasks(2, "small", cpu=1),
    )
    assert rounds(made) == {"small": "m"}


@pytest.mark.parametrize(
    ("theirs", "open_now"),
    [
        ([("TCP", 80, "")], False),
        ([("TCP", 80, "10.0.0.1")], False),
        ([("UDP", 80, "")], True),
        ([("TCP", 81, "")], True),
    ],
)
def test_ports_are_kept(theirs, open_now):
    made = scheduler(
        [machine("m", cpu=4)],
        [kept("old", "m", cpu=1, ports=theirs)],
        tasks(1, "ours", cpu=1, ports=(HostPort(80),)),
    )
    assert rounds(made) == ({"ours": "m"} if open_now else {})


def test_machines_with_devices_are_closed_to_others_that_claim_devices():
    made = scheduler(
        [machine("m", cpu=4)],
        [kept("old", "m", cpu=1, devices=True)],
        tasks(1, "plain", cpu=1),
        tasks(2, "claims", cpu=1, claims=(TaskClaim("gpu", spec="{}"),)),
    )
    told: dict[str, str] = {}
    assert rounds(made, told) == {"plain": "m"}
    assert "kept room for restarting gang" in told["claims"]


def test_others_are_told_what_keeps_them_off_but_not_the_name_of_a_foreign_gang():
    made = scheduler(
        [machine("m", cpu=4), machine("n", cpu=4), machine("o", cpu=1)],
        [kept("old-0", "m", cpu=4, until="2026-01-01T00:00:59Z"), kept("old-1", "n", cpu=2)],
        tasks(1, "ours", cpu=3),
        tasks(2, "foreign", cpu=3, namespace="theirs", images=("other",)),
    )
    told: dict[str, str] = {}
    assert rounds(made, told) == {}
    where = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) kept room for"
    assert told["ours"] == f"{where} restarting gang ours/g until {UNTIL}."
    assert told["foreign"] == f"{where} a restarting gang of another namespace until {UNTIL}."


def test_a_gang_is_not_named_to_equal_tasks_of_several_namespaces():
    made = scheduler(
        [machine("m", cpu=4), kept("old", "m", cpu=4)],
        tasks(1, "ours", cpu=3),
        tasks(1, "foreign", cpu=3, namespace="theirs"),
    )
    told: dict[str, str] = {}
    rounds(made, told)
    assert "gang ours/g" not in told["ours"] + told["foreign"]


def test_explanations_name_the_gang_and_show_its_members_the_room():
    made = scheduler(
        [machine("m", cpu=4)],
        [gang(), kept("old", "m", cpu=3)],
        tasks(1, "rival", cpu=2),
        tasks(2, "new", cpu=2, job="g"),
    )
    rounds(made)
    (verdict,) = made.explain("rival").machines
    assert [cause.words for cause in verdict.causes] == [
        f"node(s) kept room for restarting gang ours/g until {UNTIL}"
    ]
    assert made.explain("new").machines[0].feasible


@pytest.mark.parametrize(
    "payload",
    [b"", b"{}", b"[]", b'{"machine": "m", "job": "g", "priority": 0, "requests": {"cpu": 4}}'],
)
def test_a_record_that_says_too_little_keeps_nothing(payload):
    made = scheduler(
        [machine("m", cpu=4)],
        [RecordUpserted(RESTART_ROOM_RECORD, "old", payload)],
        tasks(1, "ours", cpu=4),
    )
    assert rounds(made) == {"ours": "m"}


def test_columns_that_come_later_are_counted():
    made = scheduler([machine("m", cpu=4)], [kept("old", "m", cpu=1)], tasks(1, "first", cpu=1))
    assert rounds(made) == {"first": "m"}
    made.apply([machine("n", cpu=4, extended={"example.com/gpu": 1}), kept("other", "n", cpu=4)])
    made.apply(tasks(2, "second", cpu=2))
    assert rounds(made) == {"second": "m"}


# --- Several gangs, evictions, and turns.


def test_gangs_with_room_on_one_machine_come_back_in_rounds_of_their_own():
    made = scheduler(
        [machine("m", cpu=12)],
        [gang(name, need=1) for name in "fgh"],
        [kept(f"old-{name}", "m", cpu=4, job=name) for name in "fgh"],
        [event for number, name in enumerate("fgh", 1) for event in tasks(number, name, cpu=4, job=name)],
    )
    assert rounds(made) == {"f": "m", "g": "m", "h": "m"}


def test_a_gang_that_finds_no_place_keeps_no_other_from_its_own_room():
    made = scheduler(
        [machine("m", cpu=8)],
        [gang("g"), gang("h"), kept("old-g", "m", cpu=4, job="g"), kept("old-h", "m", cpu=4, job="h")],
        tasks(1, "h-0", "h-1", cpu=4, job="h"),
        tasks(2, "g-0", "g-1", cpu=2, job="g"),
    )
    assert rounds(made) == {"g-0": "m", "g-1": "m"}


def test_nobody_is_evicted_for_room_that_a_gang_has_or_that_is_beside_it():
    made = scheduler(
        [machine("m", cpu=8), machine("n", cpu=4)],
        [gang("g", need=1), kept("old", "m", cpu=4, priority=5), ClassDefined(9, task_class(4))],
        [TasksBound("n", 9, ("low",), priority=0)],
        tasks(1, "new", cpu=4, priority=5, job="g"),
        tasks(2, "single", cpu=4, priority=5),
    )
    assert rounds(made) == {"new": "m", "single": "m"}


def test_room_does_not_count_beside_the_member_that_has_been_assumed_in_it():
    made = scheduler(
        [machine("m", cpu=12)],
        [gang("g", need=1), kept("old", "m", cpu=4, priority=5), ClassDefined(9, task_class(2))],
        [TasksBound("m", 9, ("a", "b", "c", "d"), priority=0)],
        tasks(1, "new", cpu=4, priority=5, job="g"),
    )
    assert rounds(made) == {"new": "m"}
    made.apply(tasks(2, "guest", cpu=2, priority=5))
    deltas = [delta.kind for delta in made.run_round().deltas]
    assert deltas.count(DeltaKind.PREEMPT) == 1


def test_room_that_came_after_a_member_was_assumed_is_not_its():
    made = scheduler(
        [machine("m", cpu=8)],
        [gang("g", need=1)],
        tasks(1, "new", cpu=4, job="g"),
    )
    assert rounds(made) == {"new": "m"}
    made.apply([kept("old", "m", cpu=4), *tasks(2, "rival", cpu=4)])
    assert rounds(made) == {}


def test_less_important_tasks_have_their_turn_while_important_ones_keep_coming():
    made = scheduler(
        [machine("m", cpu=4), machine("n", cpu=4)],
        [gang("g"), kept("old", "m", cpu=4, priority=5)],
        tasks(1, "low", cpu=1, priority=0),
    )
    placed: dict[str, str] = {}
    for number in range(4):
        made.apply(tasks(10 + number, f"high-{number}", cpu=1, priority=9))
        placed |= {delta.uid: delta.machine for delta in made.run_round().deltas}
    assert placed["low"] == "n"


def test_others_have_their_turn_while_gangs_keep_coming_back():
    made = scheduler([machine("m", cpu=20)], tasks(1, "single", cpu=1))
    placed: dict[str, str] = {}
    for number in range(3):
        name = f"g{number}"
        made.apply([gang(name, need=1), kept(f"old-{number}", "m", cpu=2, job=name)])
        made.apply(tasks(10 + number, f"new-{number}", cpu=2, job=name))
        placed |= {delta.uid: delta.machine for delta in made.run_round().deltas}
    assert placed.keys() == {"new-0", "single", "new-1"}
    assert rounds(made) == {"new-2": "m"}


def test_a_job_that_fails_alone_is_not_first_again_while_others_wait():
    made = scheduler(
        [machine("m", cpu=12)],
        [gang("g", need=1), gang("h", need=1)],
        [kept("old-g", "m", cpu=4, job="g", priority=1), kept("old-h", "m", cpu=4, job="h", priority=1)],
        tasks(1, "g", cpu=4, job="g", priority=1),
        tasks(2, "h", cpu=4, job="h", priority=0),
    )
    tried: list[str] = []
    for _ in range(4):
        opened = made.open_round()  # and never closed
        assert opened.snapshot is not None
        tried += opened.snapshot.uids
    assert tried == ["g", "h", "g", "h"]


def test_a_less_important_member_may_not_take_kept_ports():
    made = scheduler(
        [machine("m", cpu=8)],
        [gang("h"), kept("old", "m", cpu=1, priority=5, ports=[("TCP", 80, "")])],
        tasks(1, "lead", cpu=1, priority=9, job="h"),
        tasks(2, "follows", cpu=1, priority=0, job="h", ports=(HostPort(80),)),
    )
    assert rounds(made) == {}


def test_a_round_that_fails_gives_the_turn_to_the_next_and_loses_nobody():
    made = scheduler(
        [machine("m", cpu=12)],
        [gang("g", need=1), gang("h", need=1)],
        [kept("old-g", "m", cpu=4, job="g"), kept("old-h", "m", cpu=4, job="h")],
        tasks(1, "g", cpu=4, job="g"),
        tasks(2, "h", cpu=4, job="h"),
        tasks(3, "single", cpu=4),
    )
    tried = []
    for _ in range(3):
        opened = made.open_round()  # and never closed
        assert opened.snapshot is not None
        tried.append([*opened.snapshot.uids])
    assert sorted(map(tuple, tried)) == [("g",), ("h",), ("single",)]
    assert rounds(made) == {"g": "m", "h": "m", "single": "m"}


# --- Compared with plain sums over the tasks.


class World:
    """A small cluster with gangs whose members leave and come back, and rivals of several priorities."""

    def __init__(self, draw):
        self.draw = draw
        self.capacity = {f"m{index}": draw.randint(2, 8) for index in range(draw.randint(1, 4))}
        self.kept = {}
        self.asked = {}
        self.where = {}  # in the order in which they were placed
        self.after = {}
        self.made = scheduler(
            [machine(name, cpu=cpu) for name, cpu in self.capacity.items()],
            [gang(job, need=draw.randint(1, 2)) for job in ("g", "h")],
        )

    def change(self, number):
        """Let one thing happen: room is kept or no longer kept, a task comes or ends."""
        what = self.draw.choice(["keep", "keep", "drop", "come", "come", "come", "end"])
        if what == "keep":
            room = (
                self.draw.choice([*self.capacity]),
                self.draw.randint(1, 4),
                self.draw.choice("gh"),
                self.draw.randint(0, 2),
            )
            self.kept[f"old-{number}"] = room
            at, cpu, job, priority = room
            self.made.apply([kept(f"old-{number}", at, cpu=cpu, job=job, priority=priority)])
        elif what == "drop" and self.kept:
            uid = self.draw.choice([*self.kept])
            del self.kept[uid]
            self.made.apply([gone(uid)])
        elif what == "end" and self.where:
            uid = self.draw.choice([*self.where])
            del self.where[uid], self.asked[uid]
            self.made.apply([TaskRemoved(uid)])
        elif what == "come":
            job = self.draw.choice(["", "", "g", "h"])
            cpu, priority = self.draw.randint(1, 4), self.draw.randint(0, 2)
            self.asked[f"t{number}"] = cpu, priority, job
            self.made.apply(tasks(10 * cpu + 1, f"t{number}", cpu=cpu, priority=priority, job=job))

    def run_round(self):
        """Run a round, and check it: each task fits beside all that is on its machine and what is kept from it."""
        waiting = self.asked.keys() - self.where.keys()
        came = {delta.uid: delta.machine for delta in self.made.run_round().deltas}
        assert came.keys() <= waiting, "no task is placed twice"
        self.where |= came
        self.after |= dict.fromkeys(came, frozenset(self.kept))
        for uid, at in came.items():
            _, priority, job = self.asked[uid]
            if job:  # a gang goes with its most important member
                priority = max(self.asked[each][1] for each in waiting if self.asked[each][2] == job)
            taken = self.sum_used(at) + self.sum_kept(at, priority, job)
            assert taken <= self.capacity[at], f"{uid} has no room on {at}"

    def sum_kept(self, at, priority, job):
        """What is kept on a machine from tasks with ``priority`` in ``job``.

        Each member that has been placed there takes the oldest room of its job that was there before it. If the other
        members are newer than, and as many as, all that is left of their job's room, that is taken, too.
        """
        rooms, elsewhere = dict(self.kept), dict[str, list[str]]()
        for uid, where in self.where.items():
            of = where, self.asked[uid][2]
            mine = [old for old, room in rooms.items() if (room[0], room[2]) == of and old in self.after[uid]]
            if mine:
                del rooms[mine[0]]
            else:
                elsewhere.setdefault(of[1], []).append(uid)
        for of_job, uids in elsewhere.items():
            mine = [old for old, room in rooms.items() if room[2] == of_job]
            if sum(set(mine) <= self.after[uid] for uid in uids) >= len(mine):
                rooms = {old: room for old, room in rooms.items() if room[2] != of_job}
        return sum(
            cpu
            for where, cpu, own, theirs in rooms.values()
            if where == at and own != job and theirs >= priority
        )

    def sum_used(self, at):
        return sum(self.asked[uid][0] for uid, where in self.where.items() if where == at)


@pytest.mark.parametrize("part", range(4))
def test_nobody_takes_what_is_kept_for_others_and_nobody_waits_in_vain(part):
    """By plain sums, after each round; no machine is overcommitted, and no single task waits that would fit."""
    for seed in range(part, examples(400), 4):
        world = World(random.Random(seed))
        for number in range(12):
            world.change(number)
            for _ in range(20):
                if world.made.next_round_in() != 0.0:
                    break
                world.run_round()
            else:
                raise AssertionError(f"seed {seed}: the rounds do not come to an end")
            for uid in sorted(world.asked.keys() - world.where.keys()):
                cpu, priority, job = world.asked[uid]
                if job:
                    continue  # whether a whole gang has room is for tests of gangs
                for at, offered in world.capacity.items():
                    taken = world.sum_used(at) + world.sum_kept(at, priority, job)
                    assert taken + cpu > offered, f"seed {seed}: {uid} would fit at {at}"


def draw_restart(draw):
    """Events after which two or three gangs wait whose whole room is kept, beside others; and uids of their members.

    Gangs are as important as each other, and more so than what runs.
    """
    capacity = {f"m{index}": draw.randint(4, 12) for index in range(draw.randint(1, 4))}
    left, events, members = dict(capacity), [], []
    waiting = []
    for name in "fgh"[: draw.randint(2, 3)]:
        cpu, rooms = draw.randint(1, 4), []
        for _ in range(draw.randint(1, 3)):
            fits = [at for at, free in left.items() if free >= cpu]
            if fits:
                rooms.append(draw.choice(fits))
                left[rooms[-1]] -= cpu
        if not rooms:
            continue
        events += [gang(name, need=draw.randint(1, len(rooms)))]
        events += [
            kept(f"old-{name}-{index}", at, cpu=cpu, job=name, priority=5) for index, at in enumerate(rooms)
        ]
        uids = [f"{name}-{index}" for index in range(len(rooms))]
        members += uids
        waiting.append(tasks(10 + cpu, *uids, cpu=cpu, priority=5, job=name))
    for index, (at, free) in enumerate(left.items()):
        if free and draw.random() < 0.7:
            events.append(ClassDefined(30 + free, task_class(free, images=("runs",))))
            events.append(TasksBound(at, 30 + free, (f"runs-{index}",)))
    for index in range(draw.randint(0, 4)):
        cpu = draw.randint(1, 4)
        waiting.append(tasks(50 + cpu, f"other-{index}", cpu=cpu, priority=0))
    draw.shuffle(waiting)
    return (
        [machine(name, cpu=cpu) for name, cpu in capacity.items()],
        [*events, *itertools.chain(*waiting)],
        members,
    )


@pytest.mark.parametrize("part", range(4))
def test_gangs_whose_room_is_kept_come_back_whatever_else_waits(part):
    """All their members are placed, and nobody is evicted for them."""
    for seed in range(part, examples(200), 4):
        machines, events, members = draw_restart(random.Random(seed))
        placed = rounds(scheduler(machines, events))
        assert placed.keys() >= set(members), f"seed {seed}"


# --- Other rules that keep machines, and the time until a member is seen on its machine.


def reserve_for_a_large_task(clock, gang_need=1):
    """A gang's member and tasks that come and go keep a large task waiting, until its machine is reserved for it."""
    content = {"runs_to_completion": True}
    made = scheduler(
        [machine("m", cpu=8)],
        [gang("g", need=gang_need), ClassDefined(1, task_class(4, **content))],
        [TasksBound("m", 1, ("old",), job="g"), TasksBound("m", 1, ("small-0",))],
        tasks(2, "large", cpu=8),
        clock=clock,
        options=RoundOptions(reserve_after_rounds=2, reserve_after=1.0, reserve_for=1_000.0),
    )
    rounds(made)
    for number in range(4):
        clock.advance(1.0)
        made.apply([TaskRemoved(f"small-{number}"), *tasks(1, f"small-{number + 1}", cpu=4, **content)])
        if not rounds(made):
            return made
    raise AssertionError("nothing was reserved")


def test_a_gang_returns_to_its_room_on_a_machine_that_is_reserved_for_another_task():
    """Otherwise the room would keep the other task out, and the reservation the gang: both would wait."""
    clock = Clock()
    made = reserve_for_a_large_task(clock)
    made.apply([kept("old", "m", cpu=4), TaskRemoved("old")])
    made.apply(tasks(1, "new", cpu=4, job="g", runs_to_completion=True))
    assert rounds(made) == {"new": "m"}


def test_a_gang_without_room_or_with_less_important_room_respects_the_reservation():
    clock = Clock()
    made = reserve_for_a_large_task(clock)
    made.apply([kept("old", "m", cpu=4, priority=-1), TaskRemoved("old")])
    made.apply(tasks(1, "new", cpu=4, job="g", runs_to_completion=True))
    assert rounds(made) == {"large": "m"}


def test_nobody_is_evicted_for_room_that_a_gang_needs_no_more_as_it_has_places_elsewhere():
    """Machine x suits the gang better. Its room is on m, until the driver has seen the new member."""
    made = scheduler(
        [machine("m", cpu=4), machine("x", cpu=8), machine("n", cpu=4)],
        [gang("g", need=1), kept("old", "m", cpu=4, priority=5), ClassDefined(9, task_class(4))],
        [TasksBound("n", 9, ("low",), priority=0)],
        tasks(1, "new", cpu=4, priority=5, job="g"),
        tasks(2, "single-0", "single-1", cpu=4, priority=5),
    )
    placed = rounds(made)
    assert placed["new"] == "x"
    assert {placed["single-0"], placed["single-1"]} == {"m", "x"}


def test_room_stays_if_not_all_members_have_places_elsewhere():
    made = scheduler(
        [machine("m", cpu=8), machine("x", cpu=8)],
        [gang("g", need=1), kept("old-0", "m", cpu=4), kept("old-1", "m", cpu=4)],
        tasks(1, "new", cpu=4, job="g"),
        tasks(2, "large", cpu=8),
    )
    placed = rounds(made)
    assert placed in ({"new": "x"}, {"new": "m", "large": "x"})


def test_of_very_many_gangs_only_some_are_named():
    made = scheduler(
        [machine(f"m{index:02}", cpu=4) for index in range(14)],
        [kept(f"old-{index}", f"m{index:02}", cpu=4, job=f"g{max(index, 1)}") for index in range(14)],
        tasks(1, "single", cpu=4),
    )
    told: dict[str, str] = {}
    assert rounds(made, told) == {}
    assert f"2 node(s) kept room for restarting gang ours/g1 until {UNTIL}" in told["single"]
    assert "3 node(s) kept room for further restarting gangs" in told["single"]
    assert told["single"].count("kept room") == 11


def test_many_kept_ports_keep_their_machines_from_all_that_ask_for_them():
    """Also from those in the job of some of them."""
    made = scheduler(
        [machine(f"m{index}", cpu=4) for index in range(4)],
        [gang("g", need=1), gang("h", need=1)],
        [kept("old-0", "m0", cpu=1, ports=[("TCP", 80, "")], job="g")],
        [kept("old-1", "m1", cpu=1, ports=[("TCP", 80, ""), ("TCP", 81, "")], job="h")],
        [kept("old-2", "m2", cpu=1, ports=[("TCP", 81, "")], job="h", priority=-1)],
        [kept("old-3", "m3", cpu=1, ports=[("UDP", 80, "")], job="h")],
        tasks(1, "a", "b", "c", cpu=1, ports=(HostPort(80),)),
    )
    assert set(rounds(made).values()) == {"m2", "m3"}
    made.apply(tasks(1, "g", cpu=1, ports=(HostPort(80),), job="g"))
    assert rounds(made) == {"g": "m0"}
