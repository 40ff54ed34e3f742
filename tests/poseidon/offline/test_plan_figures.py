"""The figures of a plan's rounds together, and the parts of a plan as programs read them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from poseidon.offline.plan import Binding, Pending, Plan, Preemption, Round
from poseidon.offline.planned_queues import PlannedQueue, QueueUse
from poseidon.queues.model import UNLIMITED
from protos.firmament.v1 import scheduler_pb2 as pb

SIZES = ("machines", "tasks", "classes", "arcs")
COUNTS = ("waves", "passes", "solves", "cost")


def stats(number: int, **more: Any) -> pb.RoundStats:
    figures: dict[str, Any] = dict.fromkeys((*SIZES, *COUNTS), number)
    return pb.RoundStats(**{"certified": True, **figures, **more})


def test_sizes_are_the_largest_and_counts_are_sums():
    found = Round()
    for number in (2, 5, 3):
        found.add(stats(number))
    assert {name: getattr(found, name) for name in (*SIZES, *COUNTS)} == {
        **dict.fromkeys(SIZES, 5),
        **dict.fromkeys(COUNTS, 10),
    }
    assert (found.certified, found.gap, found.network_cost) == (True, 0.0, None)


def test_one_round_without_a_proof_leaves_all_without():
    found = Round()
    for gap, certified in ((0.1, True), (0.3, False), (0.2, True)):
        found.add(stats(1, gap=gap, certified=certified))
    assert (found.certified, found.gap) == (False, 0.3)


def test_network_cost_is_that_at_the_end():
    found = Round()
    for cost in ({"pair_cost": 7.0}, {"pair_cost": 0.0}, {}):
        found.add(stats(1, **cost))
    assert found.network_cost == 0.0


def test_seconds_are_summed_by_stage():
    found = Round()
    for _ in range(2):
        found.add(stats(1, snapshot_seconds=1.0, network_seconds=2.0, solve_seconds=3.0, admit_seconds=4.0))
    assert found.seconds == {"snapshot": 2.0, "network": 4.0, "solve": 6.0, "admit": 8.0}


def test_a_binding_leaves_out_what_it_lacks():
    assert Binding("a/p", "n1").as_json() == {"pod": "a/p", "node": "n1", "after": ()}
    found = Binding("a/p", "n1", ("a/q",), ("gpu: d",), {"k": "v"}).as_json()
    assert found == {
        "pod": "a/p",
        "node": "n1",
        "after": ("a/q",),
        "devices": ("gpu: d",),
        "annotations": {"k": "v"},
    }


PLAN = Plan(
    bindings=(Binding("a/p", "n1", ("a/q",)), Binding("a/high", "n2", ("a/q", "a/low"))),
    preemptions=(Preemption("a/low", "n2", "a/high"),),
    migrations=(),
    pending=(Pending("a/w", "no room"),),
    nodes=(),
    round=Round(gap=0.12345678949, network_cost=2.6),
    warnings=(),
)


def test_pods_wait_if_one_of_those_before_them_has_to_leave():
    assert PLAN.waiting == PLAN.bindings[1:]
    assert replace(PLAN, preemptions=()).waiting == ()


def test_a_plan_for_programs():
    found = PLAN.as_json()
    assert found["preemptions"] == [{"pod": "a/low", "node": "n2", "for": "a/high"}]
    assert found["pending"] == [{"pod": "a/w", "reason": "no room"}]
    assert [each["pod"] for each in found["bindings"]] == ["a/p", "a/high"]
    assert found["migrations"] == found["groups"] == found["appGroups"] == []


def test_a_quota_for_people_and_for_programs():
    limited = QueueUse("default", "cpu", 4000, 4500, 500, 0)
    endless = QueueUse("default", "memory", UNLIMITED, 2048, 0, 1024)
    assert limited.format_amounts() == ("4", "4500m", "500m", "0")
    assert endless.format_amounts() == ("no limit", "2Ki", "0", "1Ki")
    assert replace(endless, nominal=UNLIMITED - 1).format_amounts()[0] != "no limit"
    queue = PlannedQueue("ClusterQueue/a", "Cohort/all", 1, 2, 3, (limited,), "stopped")
    assert queue.as_json() == {
        "queue": "ClusterQueue/a",
        "parent": "Cohort/all",
        "admitted": 2,
        "waiting": 3,
        "uses": [
            {
                "flavor": "default",
                "resource": "cpu",
                "nominal": 4000,
                "used": 4500,
                "borrowed": 500,
                "lent": 0,
            }
        ],
        "message": "stopped",
    }
