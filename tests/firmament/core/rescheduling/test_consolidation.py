"""Machines that could be emptied: sound, close to the best on small clusters, ahead of prefixes on larger ones."""

from __future__ import annotations

from random import Random
from statistics import median

import pytest

from benchmarks.quality.consolidation import Running, by_prefix, random_cluster, search, trials_of
from firmament.core.rescheduling.consolidation import consolidate
from tests.firmament.core.rescheduling.exhaustive import exhaustively
from tests.support.effort import examples


def test_three_half_full_machines_become_two():
    tasks = {f"{name}-{index}": (name, (2, 2)) for name in "abc" for index in range(2)}
    found = search(Running(dict.fromkeys("abc", (6, 6)), tasks))
    assert (len(found.machines), len(found.moves), found.most) == (1, 2, 1)


def test_machines_that_are_full_stay():
    found = search(Running(dict.fromkeys("ab", (4, 4)), {"x": ("a", (4, 1)), "y": ("b", (1, 4))}))
    assert (found.machines, dict(found.moves), found.most) == ((), {}, 0)


def test_empty_machines_go_without_moves():
    found = search(Running(dict.fromkeys("abc", (4, 4)), {"x": ("a", (1, 1))}))
    assert (found.machines, dict(found.moves)) == (("b", "c"), {})


@pytest.mark.parametrize("seed", range(examples(60)))
def test_what_is_found_holds_and_the_bound_is_one(seed):
    running = random_cluster(Random(seed), Random(seed).randint(2, 6), fill=0.45, most=3)
    found = search(running)
    machines, _ = exhaustively(running)
    assert running.holds(found.moves, found.machines)
    assert len(found.moves) == sum(len(running.list_tasks(name)) for name in found.machines)
    assert set(found.moves) == {uid for name in found.machines for uid in running.list_tasks(name)}
    assert len(found.machines) <= machines <= found.most


def test_as_many_are_emptied_as_can_be_with_hardly_more_moves():
    compared = []
    for seed in range(examples(60)):
        running = random_cluster(Random(1000 + seed), Random(seed).randint(2, 6), fill=0.45, most=3)
        found = search(running)
        compared.append((len(found.machines), len(found.moves), *exhaustively(running)))
    equal = [(moves, best) for machines, moves, most, best in compared if machines == most]
    assert len(equal) >= 0.95 * len(compared)
    assert median(moves - best for moves, best in equal) == 0
    assert sum(moves for moves, _ in equal) <= 1.1 * sum(best for _, best in equal)


@pytest.mark.parametrize("pools", [0, 6])
@pytest.mark.parametrize("seed", range(examples(20, least=2, slow=True)))
def test_with_as_many_moves_never_fewer_than_by_prefixes(seed, pools):
    random = Random(seed)
    running = random_cluster(random, 40, fill=0.5, pools=pools)
    prefix = by_prefix(running, {name: random.random() for name in running.machines})
    found = search(running, budget=sum(len(running.list_tasks(name)) for name in prefix))
    assert running.holds(found.moves, found.machines)
    assert len(found.machines) >= len(prefix)


def test_few_that_do_not_fit_are_put_off_and_the_others_taken_at_once():
    """Tasks of 38 machines fit on full ones; of two larger tasks only one has a place, and only in a round."""
    names = [f"m{at:02d}" for at in range(40)]
    tasks = {name: (name, (4, 1)) for name in names} | {"m17": ("m17", (1, 5)), "m23": ("m23", (3, 4))}
    machines = dict.fromkeys(names, (9, 4)) | {"m17": (9, 5)}
    for at in range(19):
        machines[f"full-{at}"], tasks[f"full-{at}"] = (190, 8), (f"full-{at}", (1, 6))
    machines["roomy"], tasks["roomy"] = (9, 9), ("roomy", (6, 4))
    found = consolidate(trials_of(Running(machines, tasks)), names, tries=9)
    assert {*names} - {*found.machines} in ({"m17"}, {"m23"})


def test_a_try_changes_nothing():
    running = random_cluster(Random(3), 12, fill=0.4)
    trials = trials_of(running)
    before = list(trials._scheduler.task_states()), list(trials._scheduler.machine_states())
    untouched = trials.save()
    names = list(running.machines)
    for count in (1, 3, 6, 11):
        trials.empty(names[:count])
        if trials.emptied:
            trials.give_back(next(iter(trials.emptied)))
        trials.restore(untouched)
    after = list(trials._scheduler.task_states()), list(trials._scheduler.machine_states())
    assert sorted(map(str, before[0])) == sorted(map(str, after[0]))
    assert sorted(map(str, before[1])) == sorted(map(str, after[1]))


@pytest.mark.parametrize(
    ("tries", "budget", "emptied"),
    [
        (0, 99, 0),
        (1, 99, 1),  # one machine is tried alone, then two at once
        (2, 99, 3),
        (9, 99, 3),
        (9, 3, 3),  # so many moves
        (9, 2, 2),
        (9, 0, 0),
    ],
)
def test_no_more_is_tried_and_moved_than_allowed(tries: int, budget: int, emptied: int):
    """Three machines with one task each beside one that takes all; what is tried is counted from 1 up."""
    machines = dict.fromkeys("abc", (4, 4)) | {"large": (99, 99)}
    tasks = {f"on-{name}": (name, (3, 3)) for name in machines}
    noted: list[int] = []
    found = consolidate(
        trials_of(Running(machines, tasks)), "abc", tries=tries, budget=budget, note=noted.append
    )
    assert (len(found.machines), len(found.moves)) == (emptied, emptied)
    assert noted == [*range(1, len(noted) + 1)]
    assert len(noted) <= tries


def test_machines_with_the_fewest_tasks_are_emptied_first():
    machines = {"a": (4, 4), "b": (4, 4), "large": (5, 5)}
    tasks = {
        "x": ("a", (1, 1)),
        "y": ("a", (1, 1)),
        "z": ("b", (1, 1)),
        "stays": ("large", (3, 3)),
    }
    found = consolidate(trials_of(Running(machines, tasks)), "ab", tries=1)
    assert (found.machines, set(found.moves)) == (("b",), {"z"})
