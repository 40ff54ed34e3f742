"""Pods that ask for far too much are set aside before anything is made of what they ask for."""

from __future__ import annotations

import msgspec
import pytest

from benchmarks.hostile.pods import SHAPES, Room, hostile_pod
from firmament.wire import classes as solver
from poseidon.kube.api.pods import Pod
from poseidon.pod_rules.rule_limits import LIMITS
from poseidon.pods.classes import ClassTable
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.support.cluster import pod as api_pod

BY_LIMIT = {
    "resources in requests": "resource names",
    "labels in the node selector": "node selector",
    "terms of node affinity and volumes": "preferred terms",
    "tolerations": "tolerations",
    "terms of pod affinity and anti-affinity": "pod anti-affinity, required",
    "topology spread constraints": "spread, soft",
    "expressions in selectors": "pod affinity, expressions",
    "values in selectors": "pod affinity, namespaces",
}
"""A shape of a hostile pod that goes beyond each limit."""


def described(shape: str, most: int) -> pb.TaskClass:
    """What the bridge makes of a hostile pod with so many entries."""
    pod = msgspec.json.decode(msgspec.json.encode(hostile_pod(shape, Room(2**24, most))), type=Pod)
    table = ClassTable()
    return table.message(table.intern(pod))


def test_the_limits_are_the_solvers():
    assert {limit.what: limit.most for limit in solver.LIMITS if limit.what in LIMITS} == dict(LIMITS)
    assert BY_LIMIT.keys() == LIMITS.keys()


@pytest.mark.parametrize(("what", "shape"), BY_LIMIT.items())
def test_a_pod_far_beyond_a_limit_says_so_and_nothing_else(what: str, shape: str):
    count = 2 * LIMITS[what] + 1
    message = described(shape, count)
    assert message.invalid == f"the pod has {count} {what}; at most {LIMITS[what]} are supported, use fewer"
    rules = (
        message.node_selector,
        message.preferred,
        message.tolerations,
        message.anti_affinity,
        message.spread,
    )
    assert not any(rules)


@pytest.mark.parametrize(("what", "shape"), BY_LIMIT.items())
def test_a_pod_beyond_a_limit_by_little_is_for_the_solver_to_judge(what: str, shape: str):
    message = described(shape, LIMITS[what] + 1)
    assert not message.invalid
    assert what in solver.explain_excess(message)
    assert not solver.explain_excess(described(shape, LIMITS[what]))


def test_fields_of_nodes_are_expressions_too():
    count = 2 * LIMITS["expressions in selectors"] + 1
    fields = [{"key": "metadata.name", "operator": "In", "values": ["n"]}] * count
    terms = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": fields}]}
    }
    made = api_pod("p", affinity={"nodeAffinity": terms})
    table = ClassTable()
    message = table.message(table.intern(msgspec.json.decode(msgspec.json.encode(made), type=Pod)))
    assert message.invalid.startswith(f"the pod has {count} expressions in selectors; ")


def test_every_shape_at_its_limit_is_like_any_other():
    for shape, kind in SHAPES.items():
        if kind.limit is not None:
            message = described(shape, kind.limit)
            assert not message.invalid, shape
            assert not solver.explain_excess(message), shape


def test_of_far_too_many_resources_the_usual_ones_and_the_first_are_read():
    pod = hostile_pod("resource names", Room(2**24, 1_000))
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    requests |= {"cpu": "2", "memory": "3", "vendor/zzz": "1"}
    table = ClassTable()
    message = table.message(table.intern(msgspec.json.decode(msgspec.json.encode(pod), type=Pod)))
    read = {each.resource: each.amount for each in message.requests}
    assert read.pop("cpu") == 2_000
    assert read.pop("memory") == 3
    assert sorted(read) == sorted(requests.keys() - {"cpu", "memory"})[: LIMITS["resources in requests"]]


def test_equal_resources_of_many_containers_are_one():
    pod = hostile_pod("containers", Room(2**24, 300))
    table = ClassTable()
    message = table.message(table.intern(msgspec.json.decode(msgspec.json.encode(pod), type=Pod)))
    assert not message.invalid
    assert [(each.resource, each.amount) for each in message.requests] == [("cpu", 300)]
