"""The cluster of trials: where tasks are as they move, what is free then, and how many machines could be emptied."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest

from firmament.core.events import ClassDefined, Event, TasksBound, TasksSubmitted
from firmament.core.rescheduling.trial_cluster import MachineSets, TrialCluster
from tests.support.core import machine, task_class

SMALL, LARGE = 1, 2


def events(*more: Event) -> list[Event]:
    """Machines a, b and c of 10, 20 and 30; s1 and s2 of 1 run on a, the large l of 5 on b."""
    return [
        machine("a", cpu=10, memory=0, pods=5),
        machine("b", cpu=20, memory=0, pods=5),
        machine("c", cpu=30, memory=0, pods=5),
        ClassDefined(SMALL, task_class(1)),
        ClassDefined(LARGE, task_class(5, memory=0)),
        TasksBound("a", SMALL, ("s1", "s2"), priority=3),
        TasksBound("b", LARGE, ("l",), priority=7),
        *more,
    ]


def cluster(*more: Event, removed: Collection[str] = ()) -> TrialCluster:
    return TrialCluster(events(*more), removed)


def cpu(made: TrialCluster) -> dict[str, int]:
    column = [*made.resources].index("cpu")
    return {name: int(made.free_on(name)[column]) for name in made.machines}


def pods(made: TrialCluster) -> list[int]:
    column = [*made.resources].index("pods")
    return [int(made.free_on(name)[column]) for name in made.machines]


def test_machines_tasks_and_what_is_free():
    made = cluster()
    assert [*made.machines] == ["a", "b", "c"]
    assert [*made.resources] == ["cpu", "memory", "pods"]
    assert cpu(made) == {"a": 8, "b": 15, "c": 30}
    assert pods(made) == [3, 4, 5], "each task takes a place for a pod"
    assert [made.tasks_on(name) for name in "abc"] == [["s1", "s2"], ["l"], []]
    assert [made.moves(name) for name in ("a", "b", "c", "x")] == [2, 1, 0, 0]
    assert made.place_of("l") == "b"
    assert made.machine("b").allocatable["cpu"] == 20
    assert made.content_of(TasksSubmitted(LARGE, ("x",))) == task_class(5)


def test_tasks_that_end_with_their_machine_use_room_but_never_move():
    made = cluster(removed={"s1"})
    assert cpu(made) == {"a": 8, "b": 15, "c": 30}
    assert (made.moves("a"), made.tasks_on("a")) == (1, ["s2"])


def test_tasks_on_unknown_machines_take_no_room():
    made = cluster(TasksBound("x", LARGE, ("lost",)))
    assert cpu(made) == {"a": 8, "b": 15, "c": 30}
    assert made.tasks_on("x") == ["lost"]


def test_requests_are_in_the_order_of_resources():
    made = cluster(ClassDefined(3, task_class(2, requests=(("cpu", 2), ("gpu", 1), ("pods", 4)))))
    assert made.requests_of(SMALL).tolist() == [1, 0, 1]
    assert made.requests_of(3).tolist() == [2, 0, 4], "what no machine offers has no column"
    assert made.requests_of(SMALL) is made.requests_of(SMALL)
    assert made.requests_of_task("l").tolist() == [5, 0, 1]
    with pytest.raises(ValueError, match="read-only"):
        made.requests_of(SMALL)[0] = 9


def test_tasks_settle_and_return():
    made = cluster()
    made._settle("s1", "b")
    assert cpu(made) == {"a": 9, "b": 14, "c": 30}
    assert (made.place_of("s1"), made.moved) == ("b", {"s1": "b"})
    assert [made.tasks_on(name) for name in "abc"] == [["s2"], ["l", "s1"], []]
    made._settle("s1", "c")
    assert [made.tasks_on(name) for name in "abc"] == [["s2"], ["l"], ["s1"]]
    assert cpu(made) == {"a": 9, "b": 15, "c": 29}
    made._settle("s1", "a")
    assert (made.moved, cpu(made)) == ({}, {"a": 8, "b": 15, "c": 30})
    assert made.tasks_on("a") == ["s1", "s2"]
    assert made.moves("a") == 2


@pytest.mark.parametrize(
    ("candidates", "most"),
    [((), 0), (("a",), 1), (("c",), 1), (("a", "b"), 2), (("b", "c"), 2), (("a", "b", "c"), 2)],
)
def test_machines_that_could_be_emptied_by_what_all_request(candidates: tuple[str, ...], most: int):
    assert cluster().most_emptied(candidates) == most


@pytest.mark.parametrize(
    ("cpus", "most"),
    [
        ((10, 10, 10), 2),
        ((3, 3, 3), 1),
        ((2, 2, 2), 1),
        ((3, 2, 2), 1),
        ((2, 2, 1), 1),
        ((2, 1, 1), 0),
        ((4, 2, 1), 2),
        ((4, 1, 1), 2),
    ],
)
def test_the_fewest_of_the_largest_machines_stay(cpus: tuple[int, int, int], most: int):
    """Four tasks of 1 run on three machines, two of them on the first."""
    names = "abc"
    made = TrialCluster(
        [
            *(machine(name, cpu=each, memory=0, pods=9) for name, each in zip(names, cpus, strict=True)),
            ClassDefined(SMALL, task_class(1)),
            TasksBound("a", SMALL, ("t1", "t2")),
            TasksBound("b", SMALL, ("t3",)),
            TasksBound("c", SMALL, ("t4",)),
        ],
        (),
    )
    assert made.most_emptied([*names]) == most


def test_places_for_pods_may_be_what_is_scarce():
    given: list[Event] = [
        machine("a", pods=1),
        machine("b", pods=1),
        ClassDefined(SMALL, task_class(1)),
        TasksBound("a", SMALL, ("t1",)),
        TasksBound("b", SMALL, ("t2",)),
    ]
    assert TrialCluster(given, ()).most_emptied(["a", "b"]) == 0
    ends = TrialCluster(given, ("t1",))
    assert ends.most_emptied(["a", "b"]) == 1, "who ends with its machine needs no other"
    assert ends.most_emptied(["b"]) == 0


def fits(
    made: TrialCluster, leaving: list[str], uids: list[str], *, open_to: dict[int, list[bool]] | None = None
) -> bool:
    sets = open_to or {SMALL: [True] * 3, LARGE: [True] * 3}
    given = [np.array(each, dtype=np.bool_) for each in sets.values()]
    return made._may_fit(leaving, uids, MachineSets(given, {cls: at for at, cls in enumerate(sets)}))


def test_tasks_may_fit_elsewhere():
    made = cluster()
    assert fits(made, ["a"], ["s1", "s2"])
    assert fits(made, ["a", "b"], ["s1", "s2", "l"])
    assert not fits(made, ["a", "b", "c"], ["s1"])
    made.emptied["c"] = None
    assert not fits(made, ["a", "b"], ["s1"]), "what has been emptied takes nothing"
    assert fits(made, ["a"], ["s1"])


def test_only_where_rules_let_them():
    nowhere = {SMALL: [True, False, False], LARGE: [True] * 3}
    assert not fits(cluster(), ["a"], ["s1"], open_to=nowhere)
    assert fits(cluster(), ["b"], ["s1", "l"], open_to=nowhere)


def test_an_overfull_machine_takes_nothing_away_from_others():
    made = cluster(TasksBound("c", LARGE, tuple(f"x{n}" for n in range(9))))
    assert cpu(made)["c"] == -15
    assert fits(made, ["a"], ["s1"])


def test_one_task_stands_for_each_class():
    assert cluster()._one_of_each_class() == {SMALL: "s2", LARGE: "l"}
    assert cluster(removed={"l"})._one_of_each_class() == {SMALL: "s2"}
