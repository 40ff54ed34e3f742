"""Moves in waves: nothing is overcommitted whatever order the moves of a wave happen in, and each is made once."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from poseidon.rescheduling.moves import PlannedMove, divide_into_waves
from tests.support.effort import examples


def move(pod, source, target, *, cpu=1, saves=10.0, controller=None):
    owner = ("shop", "ReplicaSet", controller or pod)
    return PlannedMove(f"shop/{pod}", source, target, "", saves, owner, {"cpu": cpu, "pods": 1})


def room(**cpu):
    return {node: {"cpu": amount, "pods": 10} for node, amount in cpu.items()}


def names(waves):
    return [[each.pod.removeprefix("shop/") for each in wave] for wave in waves]


def test_the_first_wave_is_one_move_and_the_others_are_full():
    moves = [move(f"p{index}", "a", "b", saves=10.0 - index) for index in range(5)]
    found = divide_into_waves(moves, room(a=0, b=9), at_once=2)
    assert names(found.waves) == [["p0"], ["p1", "p2"], ["p3", "p4"]]


def test_a_pod_waits_until_another_has_left():
    moves = [move("comes", "a", "b", saves=20), move("leaves", "b", "c", saves=10)]
    found = divide_into_waves(moves, room(a=0, b=0, c=1), at_once=5)
    assert names(found.waves) == [["leaves"], ["comes"]]


def test_pods_that_wait_for_each_other_stay():
    moves = [move("one", "a", "b"), move("two", "b", "a")]
    found = divide_into_waves(moves, room(a=0, b=0), at_once=5)
    assert (found.waves, len(found.left)) == ((), 2)


def test_pods_of_one_controller_go_one_after_another():
    moves = [move(f"p{index}", "a", "b", controller="web") for index in range(3)]
    assert names(divide_into_waves(moves, room(a=0, b=9), at_once=5).waves) == [["p0"], ["p1"], ["p2"]]


@pytest.mark.parametrize("seed", range(examples(400)))
def test_nothing_is_overcommitted_at_any_moment(seed):
    random = Random(seed)
    nodes = [f"n{index}" for index in range(random.randint(2, 5))]
    free = {node: {"cpu": random.randint(0, 4), "pods": random.randint(0, 3)} for node in nodes}
    moves = [
        move(
            f"p{index}",
            *random.sample(nodes, 2),
            cpu=random.randint(1, 3),
            saves=random.randint(1, 50),
            controller=f"c{random.randint(0, 6)}",
        )
        for index in range(random.randint(1, 12))
    ]
    at_once = random.randint(1, 4)
    found = divide_into_waves(moves, free, at_once)
    made = [each for wave in found.waves for each in wave]
    assert Counter(each.pod for each in (*made, *found.left)) == Counter(each.pod for each in moves)
    left = {node: Counter(amounts) for node, amounts in free.items()}
    for number, wave in enumerate(found.waves):
        assert 1 <= len(wave) <= (at_once if number else 1)
        assert len({each.controller for each in wave}) == len(wave)
        for each in wave:  # all have come before any has left: the worst order there is
            left[each.target].subtract(each.requests)
        assert all(amount >= 0 for amounts in left.values() for amount in amounts.values())
        for each in wave:
            left[each.source].update(each.requests)
