"""Taints and tolerations as core/v1 defines them at scheduling time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.core.model import Taint, Toleration
from firmament.core.selectors.taints import FEW, HARD_EFFECTS, TaintIndex, Tolerated, is_tolerated, tolerates
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
        # Gt and Lt compare integers as people write them, with the taint's value on the left.
        (Toleration("risk", "Lt", "100", ""), Taint("risk", "99", "NoSchedule"), True),
        (Toleration("risk", "Lt", "100", ""), Taint("risk", "100", "NoSchedule"), False),
        (Toleration("risk", "Gt", "100", ""), Taint("risk", "101", "NoExecute"), True),
        (Toleration("risk", "Gt", "100", "NoSchedule"), Taint("risk", "101", "NoExecute"), False),
        (Toleration("risk", "Gt", "-5", ""), Taint("risk", "-4", "NoSchedule"), True),
        (Toleration("risk", "Gt", "1", ""), Taint("risk", "high", "NoSchedule"), False),
        (Toleration("risk", "Gt", "1", ""), Taint("risk", "007", "NoSchedule"), False),
        (Toleration("risk", "Gt", "1", ""), Taint("risk", "+7", "NoSchedule"), False),
        (Toleration("risk", "Gt", "1", ""), Taint("risk", str(2**63), "NoSchedule"), False),
        (Toleration("cost", "Gt", "1", ""), Taint("risk", "7", "NoSchedule"), False),
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


def test_explanations_name_the_first_untolerated_taint_which_messages_only_count():
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
    text = "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
    assert messages(result) == dict.fromkeys(("none", "one", "two"), text)
    reasons = {uid: core.explain(uid).machines[0].reasons for uid in messages(result)}
    assert reasons == {
        "none": ("node(s) had untolerated taint(s) {a: 1}",),
        "one": ("node(s) had untolerated taint(s) {b: }",),
        "two": ("node(s) had untolerated taint(s) {c: 3}",),
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
    assert index.count_untolerated_preferences((), 200).tolist() == [
        2 if row % 3 == 1 else 0 for row in range(200)
    ]
    index.remove(199, 0)  # 199 has the soft taints
    index.set(1, ())
    assert index.first_untolerated((), 4)[0].tolist() == [-1, -1, -1, 0]
    assert index.count_untolerated_preferences((), 4).tolist() == [2, 0, 0, 0]


def test_a_toleration_of_a_hard_effect_does_not_answer_a_preference():
    index = TaintIndex()
    index.set(0, (SOFT,))
    assert index.count_untolerated_preferences(
        (Toleration("gpu", "Exists", "", "NoSchedule"),), 1
    ).tolist() == [1]
    assert index.count_untolerated_preferences((Toleration("gpu", "Exists", "", ""),), 1).tolist() == [0]


KEYS, VALUES, EFFECTS = (
    st.sampled_from(each) for each in (["", "a", "b"], ["", "x", "1", "2"], ["", *HARD_EFFECTS])
)
TOLERATIONS = st.builds(Toleration, KEYS, st.sampled_from(["Equal", "Exists", "Gt", "Lt"]), VALUES, EFFECTS)
TAINTS = st.builds(Taint, st.sampled_from("ab"), VALUES, st.sampled_from([*HARD_EFFECTS, "PreferNoSchedule"]))


@given(st.lists(TOLERATIONS, max_size=3 * FEW), TAINTS)
def test_looking_tolerations_up_finds_what_going_through_them_finds(tolerations, taint):
    assert (taint in Tolerated(tolerations)) == is_tolerated(tolerations, taint)


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.lists(TAINTS, max_size=2).map(tuple)) | st.just("remove"), max_size=25
    )
)
def test_the_index_follows_its_machines(steps):
    index, rows = TaintIndex(), list[tuple[Taint, ...]]()
    for step in steps:
        if step == "remove":
            if rows:
                index.remove(len(rows) - 1, 0)
                rows[0] = rows[-1]
                rows.pop()
            continue
        row = min(step[0], len(rows))
        rows[row : row + 1] = [step[1]]
        index.set(row, step[1])
    first, taints = index.first_untolerated((), len(rows))
    hard = [next((each for each in taints if each.effect in HARD_EFFECTS), None) for taints in rows]
    assert [taints[number] if number >= 0 else None for number in first.tolist()] == hard
    soft = [sum(each.effect == "PreferNoSchedule" for each in taints) for taints in rows]
    assert index.count_untolerated_preferences((), len(rows)).tolist() == soft
    assert (index.soft > 0) == any(soft)
    assert (index.groups > 0) == any(rows)


def test_taints_that_no_machine_has_any_more_are_forgotten():
    index = TaintIndex()
    for number in range(50_000):
        index.set(number % 10, (Taint("key", str(number), "NoSchedule"),))
    assert len(index._column.by_code) == len(index._column.counts) < 20
    assert len(index._column.values) == 10
