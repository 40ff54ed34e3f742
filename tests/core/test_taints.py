"""Taints and tolerations as core/v1 defines them at scheduling time."""

from __future__ import annotations

import pytest

from firmament.core.model import Taint, Toleration
from firmament.core.taints import TaintIndex, tolerates
from tests.support.core import machine, messages, placed, scheduler, task_class, tasks

GPU = Taint("gpu", "yes", "NoSchedule")
EVICT = Taint("gpu", "yes", "NoExecute")
SOFT = Taint("gpu", "yes", "PreferNoSchedule")
BARE = Taint("gpu", "", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "taint", "expected"),
    [
        # Equal compares key, value and effect; an empty effect stands for every effect.
        (Toleration("gpu", "Equal", "yes", "NoSchedule"), GPU, True),
        (Toleration("gpu", "Equal", "yes", "NoExecute"), GPU, False),
        (Toleration("gpu", "Equal", "yes", "NoExecute"), EVICT, True),
        (Toleration("gpu", "Equal", "yes", "PreferNoSchedule"), SOFT, True),
        (Toleration("gpu", "Equal", "yes", ""), GPU, True),
        (Toleration("gpu", "Equal", "yes", ""), EVICT, True),
        (Toleration("gpu", "Equal", "yes", ""), SOFT, True),
        (Toleration("gpu", "Equal", "no", ""), GPU, False),
        (Toleration("gpu", "Equal", "", ""), GPU, False),
        (Toleration("gpu", "Equal", "", ""), BARE, True),
        (Toleration("cpu", "Equal", "yes", ""), GPU, False),
        # Exists leaves the value open.
        (Toleration("gpu", "Exists", "", ""), GPU, True),
        (Toleration("gpu", "Exists", "", "NoSchedule"), GPU, True),
        (Toleration("gpu", "Exists", "", "NoExecute"), GPU, False),
        (Toleration("cpu", "Exists", "", ""), GPU, False),
        # An empty key with Exists matches every taint of the effect.
        (Toleration("", "Exists", "", ""), GPU, True),
        (Toleration("", "Exists", "", ""), EVICT, True),
        (Toleration("", "Exists", "", "NoSchedule"), GPU, True),
        (Toleration("", "Exists", "", "NoExecute"), GPU, False),
        # An empty key with Equal is invalid in Kubernetes and tolerates nothing here.
        (Toleration("", "Equal", "", ""), GPU, False),
        (Toleration("", "Equal", "yes", ""), GPU, False),
    ],
)
def test_the_table_of_tolerations(toleration: Toleration, taint: Taint, expected: bool):
    assert tolerates(toleration, taint) is expected


@pytest.mark.parametrize(
    ("taint", "open_to_all"),
    [(GPU, False), (EVICT, False), (SOFT, True)],
)
def test_which_effects_keep_tasks_away(taint: Taint, open_to_all: bool):
    core = scheduler(machine("m", taints=[taint]), tasks(1, "t"))
    assert bool(placed(core.run_round())) is open_to_all


def test_the_message_names_the_first_untolerated_taint():
    taints = [Taint("a", "1", "NoSchedule"), SOFT, Taint("b", "", "NoExecute"), Taint("c", "3", "NoSchedule")]
    core = scheduler(
        machine("m", taints=taints),
        tasks(1, "none"),
        tasks(2, "one", content=task_class(tolerations=(Toleration("a", "Exists"),))),
        tasks(
            3, "two", content=task_class(tolerations=(Toleration("a", "Exists"), Toleration("b", "Exists")))
        ),
        tasks(4, "all", content=task_class(tolerations=(Toleration("", "Exists"),))),
    )
    result = core.run_round()
    assert messages(result) == {
        "none": "0/1 nodes are available: 1 node(s) had untolerated taint {a: 1}.",
        "one": "0/1 nodes are available: 1 node(s) had untolerated taint {b: }.",
        "two": "0/1 nodes are available: 1 node(s) had untolerated taint {c: 3}.",
    }
    assert placed(result) == {"all": "m"}


def test_every_taint_must_be_tolerated():
    both = [GPU, Taint("team", "red", "NoSchedule")]
    content = task_class(tolerations=(Toleration("gpu", "Exists"),))
    core = scheduler(machine("m", taints=both), tasks(1, "t", content=content))
    assert placed(core.run_round()) == {}


# --- cordons ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toleration", "goes_there"),
    [
        (None, False),
        (Toleration("node.kubernetes.io/unschedulable", "Exists", "", "NoSchedule"), True),
        (Toleration("node.kubernetes.io/unschedulable", "Exists", "", ""), True),
        (Toleration("node.kubernetes.io/unschedulable", "Equal", "", "NoSchedule"), True),
        (Toleration("node.kubernetes.io/unschedulable", "Exists", "", "NoExecute"), False),
        (Toleration("", "Exists", "", ""), True),
        (Toleration("other", "Exists", "", ""), False),
    ],
)
def test_who_may_use_a_cordoned_machine(toleration: Toleration | None, goes_there: bool):
    content = task_class(tolerations=() if toleration is None else (toleration,))
    core = scheduler(machine("m", cordoned=True), tasks(1, "t", content=content))
    assert bool(placed(core.run_round())) is goes_there


def test_uncordoning_wakes_the_tasks_that_wait():
    core = scheduler(machine("m", cordoned=True), tasks(1, "t"))
    assert messages(core.run_round()) == {"t": "0/1 nodes are available: 1 node(s) were unschedulable."}
    assert core.next_round_in() is None
    core.apply([machine("m")])
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"t": "m"}


# --- groups of machines ----------------------------------------------------------------------------------------------


def test_groups_follow_rows_that_are_set_moved_and_many():
    index = TaintIndex()
    for row in range(200):
        index.set(row, (GPU,) if row % 3 == 0 else (SOFT, SOFT) if row % 3 == 1 else ())
    first, found = index.first_untolerated((), 200)
    assert found == [GPU]
    assert first.tolist() == [0 if row % 3 == 0 else -1 for row in range(200)]
    assert index.untolerated_preferences((), 200).tolist() == [2 if row % 3 == 1 else 0 for row in range(200)]
    index.move(199, 0)  # 199 has the soft taints
    index.set(1, ())
    assert index.first_untolerated((), 4)[0].tolist() == [-1, -1, -1, 0]
    assert index.untolerated_preferences((), 4).tolist() == [2, 0, 0, 0]


def test_a_toleration_of_a_hard_effect_does_not_answer_a_preference():
    index = TaintIndex()
    index.set(0, (SOFT,))
    assert index.untolerated_preferences((Toleration("gpu", "Exists", "", "NoSchedule"),), 1).tolist() == [1]
    assert index.untolerated_preferences((Toleration("gpu", "Exists", "", ""),), 1).tolist() == [0]
