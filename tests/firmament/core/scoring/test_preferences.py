"""A task's own preferred rules: worked examples with kube-scheduler's scaling and weights."""

from __future__ import annotations

import pytest

from firmament.core.model import NodeSelectorTerm, PreferredTerm, Requirement, Taint, TaskClass, Toleration
from firmament.core.results import ModelVerdict
from tests.support.core import machine, placed, scheduler, task_class, tasks


def prefer(weight: int, key: str, *values: str) -> PreferredTerm:
    return PreferredTerm(weight, NodeSelectorTerm(labels=(Requirement(key, "In", values),)))


def soft(key: str) -> Taint:
    return Taint(key, "", "PreferNoSchedule")


def verdicts(content: TaskClass, *machines: object) -> list[ModelVerdict]:
    """What ``kubernetes`` says about the machines for a task of the class."""
    core = scheduler(*machines, tasks(1, "t", content=content))  # type: ignore[arg-type]
    return [
        model
        for verdict in core.explain("t").machines
        for model in verdict.models
        if model.model == "kubernetes"
    ]


def test_matched_weights_are_scaled_to_the_best_machine():
    content = task_class(
        preferred=(prefer(10, "zone", "a"), prefer(30, "disk", "ssd"), prefer(3, "rack", "1"))
    )
    found = verdicts(
        content,
        machine("both", labels={"zone": "a", "disk": "ssd"}),
        machine("disk", labels={"disk": "ssd"}),
        machine("zone", labels={"zone": "a", "rack": "1"}),
        machine("none"),
    )
    # 40, 30, 13 and 0 of 40: scores 100, 75, floor(32.5) and 0; cost is twice what is missing.
    assert [entry.raw for entry in found] == [40.0, 30.0, 13.0, 0.0]
    assert [entry.score for entry in found] == [100.0, 75.0, 32.0, 0.0]
    assert [entry.cost for entry in found] == [0.0, 50.0, 136.0, 200.0]


def test_only_feasible_machines_set_the_scale():
    content = task_class(preferred=(prefer(10, "zone", "a"), prefer(10, "disk", "ssd")))
    found = verdicts(
        content,
        machine("cordoned", labels={"zone": "a", "disk": "ssd"}, cordoned=True),
        machine("usable", labels={"zone": "a"}),
    )
    assert [entry.score for entry in found] == [100.0, 100.0]


def test_terms_that_match_everywhere_cost_nothing():
    content = task_class(preferred=(prefer(7, "zone", "a"),))
    found = verdicts(content, machine("m", labels={"zone": "a"}), machine("n", labels={"zone": "a"}))
    assert [entry.cost for entry in found] == [0.0, 0.0]


def test_terms_that_match_nowhere_cost_the_same_everywhere():
    content = task_class(preferred=(prefer(7, "zone", "a"),))
    found = verdicts(content, machine("m"), machine("n", labels={"zone": "b"}))
    assert [(entry.score, entry.cost) for entry in found] == [(0.0, 200.0), (0.0, 200.0)]


def test_untolerated_soft_taints_are_counted_scaled_and_inverted():
    found = verdicts(
        task_class(),
        machine("clean"),
        machine("one", taints=[soft("a")]),
        machine("three", taints=[soft("a"), soft("b"), soft("c")]),
    )
    # 0, 1 and 3 taints: scores 100, 100 - floor(33.3) and 0; cost is three times what is missing.
    assert [entry.raw for entry in found] == [0.0, -1.0, -3.0]
    assert [entry.score for entry in found] == [100.0, 67.0, 0.0]
    assert [entry.cost for entry in found] == [0.0, 99.0, 300.0]


def test_tolerated_soft_taints_do_not_count():
    content = task_class(tolerations=(Toleration("a", "Exists", "", "PreferNoSchedule"),))
    found = verdicts(content, machine("a", taints=[soft("a")]), machine("ab", taints=[soft("a"), soft("b")]))
    assert [entry.cost for entry in found] == [0.0, 300.0]


def test_affinity_and_taints_add_up():
    content = task_class(preferred=(prefer(1, "zone", "a"),))
    found = verdicts(
        content,
        machine("m", labels={"zone": "a"}, taints=[soft("a")]),
        machine("n"),
        machine("o", taints=[soft("a")]),
    )
    assert [entry.cost for entry in found] == [300.0, 200.0, 500.0]
    assert [entry.score for entry in found] == [40.0, 60.0, 0.0]


@pytest.mark.parametrize(
    ("labels", "cost"),
    [({"zone": "a"}, 0.0), ({"zone": "b"}, 200.0)],
)
def test_preferences_are_charged_on_top_of_the_policy(labels: dict[str, str], cost: float):
    core = scheduler(
        machine("m", labels=labels),
        machine("n", labels={"zone": "a"}, cordoned=False),
        tasks(1, "t", content=task_class(preferred=(prefer(1, "zone", "a"),))),
    )
    verdict = core.explain("t").machines[0]
    assert verdict.cost == verdict.models[0].cost + cost


def test_a_task_goes_where_it_prefers_even_if_that_is_fuller():
    core = scheduler(
        machine("empty", cpu=64_000),
        machine("preferred", cpu=1_000, labels={"zone": "a"}),
        tasks(1, "t", content=task_class(cpu=500, preferred=(prefer(1, "zone", "a"),))),
    )
    assert placed(core.run_round()) == {"t": "preferred"}


def test_a_preference_is_no_requirement():
    core = scheduler(
        machine("m"), tasks(1, "t", content=task_class(preferred=(prefer(100, "zone", "nowhere"),)))
    )
    assert placed(core.run_round()) == {"t": "m"}
