"""Room that other schedulers keep for nominated tasks: taken for tasks of their priority or less, free for others."""

from __future__ import annotations

import json
import random

import pytest

from firmament.core.events import (
    ClassDefined,
    JobDefined,
    RecordRemoved,
    RecordUpserted,
    TaskRemoved,
    TasksSubmitted,
)
from firmament.core.model import (
    Job,
    TaskClass,
)
from firmament.core.record_kinds import FOREIGN_NOMINATION_RECORD
from firmament.core.results import DeltaKind
from tests.support.core import machine, scheduler
from tests.support.effort import examples


def nominated(uid, at, *, cpu, priority=0):
    payload = {"machine": at, "priority": priority, "requests": {"cpu": cpu, "pods": 1}}
    return RecordUpserted(FOREIGN_NOMINATION_RECORD, uid, json.dumps(payload).encode())


def tasks(number, *uids, cpu, priority=0, job=""):
    described = ClassDefined(number, TaskClass(requests=(("cpu", cpu),)))
    return [described, TasksSubmitted(number, uids, priority=priority, job=job)]


def rounds(made):
    """Run rounds until nothing is left to do; returns where each task was placed."""
    placed = {}
    while made.next_round_in() == 0.0:
        for delta in made.run_round().deltas:
            assert delta.kind is DeltaKind.PLACE
            placed[delta.uid] = delta.machine
    return placed


def test_what_is_kept_is_taken_for_tasks_of_that_priority_or_less():
    made = scheduler(
        [machine("m", cpu=4)],
        [nominated("theirs", "m", cpu=3, priority=5)],
        tasks(1, "less", cpu=2, priority=4),
        tasks(2, "same", cpu=2, priority=5),
        tasks(3, "small", cpu=1, priority=0),
    )
    assert rounds(made) == {"small": "m"}


def test_who_is_more_important_does_not_wait_and_the_others_are_not_let_in_beside():
    made = scheduler(
        [machine("m", cpu=4), machine("n", cpu=2)],
        [nominated("theirs", "m", cpu=3, priority=5)],
        tasks(1, "less", cpu=2, priority=4),
        tasks(2, "more", cpu=4, priority=6),
    )
    assert rounds(made) == {"more": "m", "less": "n"}


@pytest.mark.parametrize("how", ["gone", "elsewhere", "smaller"])
def test_who_waits_is_woken_when_less_is_kept(how):
    made = scheduler([machine("m", cpu=4)], [nominated("theirs", "m", cpu=3)], tasks(1, "ours", cpu=2))
    assert rounds(made) == {}
    made.apply(
        {
            "gone": [RecordRemoved(FOREIGN_NOMINATION_RECORD, "theirs")],
            "elsewhere": [nominated("theirs", "n", cpu=3)],
            "smaller": [nominated("theirs", "m", cpu=2)],
        }[how]
    )
    assert rounds(made) == {"ours": "m"}


def test_a_gang_goes_with_its_most_important_member():
    made = scheduler(
        [machine("m", cpu=4), machine("n", cpu=4)],
        [nominated("theirs", "m", cpu=1, priority=5)],
        [JobDefined(Job("g", min_members=2))],
        tasks(1, "first", cpu=4, priority=6, job="g"),
        tasks(2, "second", cpu=4, priority=4, job="g"),
    )
    assert sorted(rounds(made).values()) == ["m", "n"]


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{}",
        b"[]",
        b'{"machine": "m", "priority": "x", "requests": {}}',
        b'{"requests": 7}',
        b'{"machine": 1}',
    ],
)
def test_a_record_that_says_nothing_keeps_nothing(payload):
    made = scheduler(
        [machine("m", cpu=4)],
        [RecordUpserted(FOREIGN_NOMINATION_RECORD, "theirs", payload)],
        tasks(1, "ours", cpu=4),
    )
    assert rounds(made) == {"ours": "m"}


@pytest.mark.parametrize("part", range(examples(4, least=1)))
def test_the_rule_holds_for_every_task_and_nobody_waits_in_vain(part):
    """By plain sums: each task fits beside those as important and what is kept for as important ones, and none is left
    out that would.
    """
    for seed in range(part, 400, 4):
        draw = random.Random(seed)
        capacity = {f"m{index}": draw.randint(2, 8) for index in range(draw.randint(1, 3))}
        kept = [
            (draw.choice([*capacity]), draw.randint(1, 4), draw.randint(0, 3))
            for _ in range(draw.randint(0, 4))
        ]
        asked = {f"t{index}": (draw.randint(1, 4), draw.randint(0, 3)) for index in range(draw.randint(1, 8))}
        made = scheduler(
            [machine(name, cpu=cpu) for name, cpu in capacity.items()],
            [nominated(f"n{i}", at, cpu=cpu, priority=p) for i, (at, cpu, p) in enumerate(kept)],
            *(tasks(i + 1, uid, cpu=cpu, priority=p) for i, (uid, (cpu, p)) in enumerate(asked.items())),
        )
        placed = rounds(made)
        for uid, at in placed.items():
            least = asked[uid][1]
            used = sum(
                asked[each][0] for each, where in placed.items() if where == at and asked[each][1] >= least
            )
            theirs = sum(cpu for where, cpu, p in kept if where == at and p >= least)
            assert used + theirs <= capacity[at], f"seed {seed}: {uid} at {at}"
        for uid in asked.keys() - placed.keys():
            cpu, own = asked[uid]
            for at, offered in capacity.items():
                used = sum(asked[each][0] for each, where in placed.items() if where == at)
                theirs = sum(each for where, each, p in kept if where == at and p >= own)
                assert used + theirs + cpu > offered, f"seed {seed}: {uid} would fit at {at}"


def test_a_nomination_outlives_the_tasks_that_waited_for_it():
    made = scheduler([machine("m", cpu=4)], [nominated("theirs", "m", cpu=3)], tasks(1, "a", cpu=2))
    rounds(made)
    made.apply([TaskRemoved("a"), *tasks(2, "b", cpu=1), *tasks(3, "c", cpu=2)])
    assert rounds(made) == {"b": "m"}
