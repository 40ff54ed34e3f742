"""What a workload lacks in its queue, and the changes that are proposed: which are tried, in which order and words."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from poseidon.api import read
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.nodes import PriorityClass
from poseidon.kube.api.other_projects.queues import WorkloadPriorityClass
from poseidon.offline.admission_trials import AdmissionChange, AdmissionStep
from poseidon.offline.cluster import build_offline_cluster
from poseidon.offline.quota_changes import (
    QuotaLack,
    find_priority_change,
    find_quota_changes,
    find_request_change,
    list_lacks,
)
from poseidon.queues.model import UNLIMITED, CoveredResources, QuotaNode
from tests.poseidon.queues.objects import cluster_queue, flavor, local_queue, quotas

GIB = 2**30
change_request: Any = find_request_change
change_priority: Any = find_priority_change


class ScriptedTrials:
    """Admits a workload if ``enough`` says so of what is tried; keeps what has been tried."""

    def __init__(self, enough: Any, others: tuple[str, ...] = ()) -> None:
        self._enough = enough
        self._others = others
        self.tried: list[Any] = []

    def _try(self, value: Any) -> tuple[str, ...] | None:
        self.tried.append(value)
        return self._others if self._enough(value) else None

    try_quota = try_requests = try_priority = _try


def admitting(enough: Any, others: tuple[str, ...] = ()) -> Any:
    return ScriptedTrials(enough, others)


def lack(flavor: str, resource: str, wanted: int, left: int = 0) -> QuotaLack:
    return QuotaLack(flavor, resource, wanted, left)


# --- what is lacking --------------------------------------------------------------------------------------------------


def covering(*groups: tuple[tuple[str, ...], tuple[str, ...]]) -> QuotaNode:
    return QuotaNode("ClusterQueue/team", covered=tuple(CoveredResources(*each) for each in groups))


def test_lacks_are_listed_by_combination_the_least_lacking_first():
    quota = covering((("cpu", "memory"), ("a", "b", "c")))
    left = {("a", "cpu"): 1, ("a", "memory"): 10, ("b", "cpu"): 4, ("b", "memory"): 9, ("c", "cpu"): 4}
    found = list_lacks(
        quota, {"cpu": 4, "memory": 10}, lambda flavor, name: left.get((flavor, name), 10 * (name != "cpu"))
    )
    assert found == [[], [lack("b", "memory", 10, 9)], [lack("a", "cpu", 4, 1)]]
    assert [each.missing for lacks in found for each in lacks] == [1, 3]


def test_each_group_of_resources_takes_a_flavor_of_its_own():
    quota = covering((("cpu",), ("a", "b")), (("gpu",), ("x", "y")), (("unused",), ("u", "v")))
    found = list_lacks(quota, {"cpu": 2, "gpu": 1, "unasked": 5}, lambda *_: 0)
    assert [[(each.flavor, each.resource) for each in lacks] for lacks in found] == [
        [(first, "cpu"), (second, "gpu")] for first in "ab" for second in "xy"
    ]
    assert list_lacks(quota, {"cpu": 0, "gpu": 0}, lambda *_: -1) == [[]] * 4


def test_only_the_first_combinations_are_looked_at():
    many = tuple(f"f{number}" for number in range(65))
    found = list_lacks(covering((("cpu",), many)), {"cpu": 1}, lambda *_: 0)
    assert [lacks[0].flavor for lacks in found] == list(many[:64])


# --- quotas -----------------------------------------------------------------------------------------------------------


NO_BOOK: Any = SimpleNamespace(find_object=lambda _: None)


def changes(
    trials: Any, quota: QuotaNode, *lacks: list[QuotaLack], ahead: Any = None
) -> list[AdmissionChange]:
    return find_quota_changes(trials, NO_BOOK, quota, lacks, ahead or {})


def test_a_quota_is_raised_by_what_is_missing():
    trials = admitting(lambda quota: quota.nominal["a"]["cpu"] >= 5000)
    quota = QuotaNode("ClusterQueue/team", nominal={"a": {"cpu": 4000, "gpu": 1}, "b": {"cpu": 7}})
    [change] = changes(trials, quota, [lack("a", "cpu", 3000, 2000)])
    assert change.steps == (AdmissionStep("quota", "ClusterQueue/team", "a", "cpu", 4000, 5000),)
    assert change.text == "nominalQuota 5 instead of 4 for cpu of flavor a (ClusterQueue team)"
    assert (change.commands, change.others) == ((), ())
    [tried] = trials.tried
    assert tried.nominal == {"a": {"cpu": 5000, "gpu": 1}, "b": {"cpu": 7}}
    assert quota.nominal["a"]["cpu"] == 4000


def test_an_amount_that_is_not_stated_is_raised_from_nothing():
    [change] = changes(admitting(lambda _: True), QuotaNode("KaiQueue/x"), [lack("a", "gpu", 2)])
    assert [(each.before, each.after) for each in change.steps] == [(0, 2)]
    assert change.text == "quota 2 instead of 0 for gpu (KaiQueue x)"


@pytest.mark.parametrize(
    ("kind", "own", "most"),
    [
        ("KaiQueue", "quota", "limit"),
        ("VolcanoQueue", "deserved", "capability"),
        ("ElasticQuota", "min", "max"),
        ("KoordinatorQuota", "min", "max"),
        ("Other", "quota", "limit"),
    ],
)
def test_amounts_have_the_names_of_their_project(kind, own, most):
    quota = QuotaNode(f"{kind}/x", nominal={"": {"cpu": 1000}}, limit={"": {"cpu": 2000}})
    limited, raised = changes(admitting(lambda _: True), quota, [lack("", "cpu", 500)])
    assert limited.text == f"{most} 2500m instead of 2 for cpu ({kind} x)"
    assert raised.text == f"{own} 1500m instead of 1 for cpu ({kind} x)"


def test_a_limit_that_is_not_stated_is_not_raised():
    quota = QuotaNode("ClusterQueue/team", nominal={"a": {"cpu": 1}}, borrowing={"b": {"cpu": 1}}, limit={})
    trials = admitting(lambda _: False)
    assert changes(trials, quota, [lack("a", "cpu", 1)]) == []
    assert len(trials.tried) == 1


@pytest.mark.parametrize(("amount", "tried"), [(UNLIMITED - 2, 1), (UNLIMITED - 1, 0)])
def test_no_amount_is_raised_beyond_what_counts_as_unlimited(amount, tried):
    trials = admitting(lambda _: False)
    changes(trials, QuotaNode("ClusterQueue/t", nominal={"a": {"cpu": amount}}), [lack("a", "cpu", 1)])
    assert len(trials.tried) == tried


def test_limits_come_before_quotas_and_both_together_last():
    quota = QuotaNode(
        "KaiQueue/x",
        nominal={"": {"cpu": 1000}},
        borrowing={"": {"cpu": 3000}},
        limit={"": {"cpu": 2000}},
    )
    asked = [lack("", "cpu", 1000)]
    trials = admitting(lambda _: True)
    assert [[step.kind for step in each.steps] for each in changes(trials, quota, asked)] == [
        ["borrowing-limit"],
        ["limit"],
        ["quota"],
    ]
    first, second, third = trials.tried
    assert (first.borrowing, first.limit, first.nominal) == ({"": {"cpu": 4000}}, quota.limit, quota.nominal)
    assert (second.borrowing, second.limit, second.nominal) == (
        quota.borrowing,
        {"": {"cpu": 3000}},
        quota.nominal,
    )
    assert (third.borrowing, third.limit, third.nominal) == (
        quota.borrowing,
        quota.limit,
        {"": {"cpu": 2000}},
    )
    both = admitting(lambda tried: tried.limit[""]["cpu"] == 3000 and tried.nominal[""]["cpu"] == 2000)
    [change] = changes(both, quota, asked)
    assert [step.kind for step in change.steps] == ["limit", "quota"]
    assert change.text == "limit 3 instead of 2 for cpu; quota 2 instead of 1 for cpu (KaiQueue x)"
    assert len(both.tried) == 4
    one = admitting(lambda tried: tried.limit[""]["cpu"] == 3000)
    assert len(changes(one, quota, asked)) == 1
    assert len(one.tried) == 3
    borrowing = QuotaNode("ClusterQueue/x", nominal={"": {"cpu": 1}}, borrowing={"": {"cpu": 1}})
    none = admitting(lambda _: False)
    assert changes(none, borrowing, asked) == []
    assert len(none.tried) == 2, "a quota may always be borrowed from: both together say nothing more"


def test_those_ahead_count_only_if_less_is_not_enough():
    quota = QuotaNode("ClusterQueue/team", nominal={"a": {"cpu": 1000}})
    asked = [lack("a", "cpu", 1000), lack("a", "gpu", 1)]
    ahead = {"cpu": 500, "memory": GIB}
    little = admitting(lambda _: True)
    [change] = changes(little, quota, asked, ahead=ahead)
    assert [step.after for step in change.steps] == [2000, 1]
    assert "ahead" not in change.text
    more = admitting(lambda tried: tried.nominal["a"]["cpu"] >= 2500, ("shop/x",))
    [change] = changes(more, quota, asked, ahead=ahead)
    assert [step.after for step in change.steps] == [2500, 1]
    assert change.text.endswith(
        " (ClusterQueue team), which is enough for those ahead of it, too; then shop/x loses its places"
    )
    assert change.others == ("shop/x",)
    none = admitting(lambda _: False)
    assert changes(none, quota, asked) == []
    assert len(none.tried) == 1


def test_the_first_flavors_that_help_are_enough_and_few_are_tried():
    flavors = [[lack(name, "cpu", 1)] for name in "abcd"]
    trials = admitting(lambda quota: "b" in quota.nominal)
    [change] = changes(trials, QuotaNode("ClusterQueue/t"), [], *flavors)
    assert change.steps[0].flavor == "b"
    none = admitting(lambda _: False)
    assert changes(none, QuotaNode("ClusterQueue/t"), [], *flavors) == []
    assert [[*each.nominal] for each in none.tried] == [["a"], ["b"], ["c"]]
    assert changes(admitting(lambda _: True), QuotaNode("ClusterQueue/t"), []) == []


def test_a_cluster_queue_is_changed_by_a_command():
    first, second = quotas("a", cpu=(4, 2, None)), quotas("b", memory="1Gi", gpu=1)
    objects = [flavor("a"), flavor("b"), cluster_queue("team", first, second), local_queue("users", "team")]
    cluster = read(objects, config={"queues": {"source": "kueue"}})
    book: Any = build_offline_cluster(cluster.manifests, cluster.configuration, 0.0).state.queues
    quota = QuotaNode("ClusterQueue/team", nominal={"b": {"gpu": 1, "memory": GIB}})
    asked = [lack("b", "memory", GIB), lack("b", "gpu", 2)]
    [change] = find_quota_changes(admitting(lambda _: True), book, quota, [asked], {})
    [command] = change.commands
    start, _, operations = command.partition(" -p ")
    assert start == "kubectl patch clusterqueue team --type=json"
    assert json.loads(operations.strip("'")) == [
        {"op": "add", "path": "/spec/resourceGroups/1/flavors/0/resources/0/nominalQuota", "value": "2Gi"},
        {"op": "add", "path": "/spec/resourceGroups/1/flavors/0/resources/1/nominalQuota", "value": "3"},
    ]
    assert " " not in operations
    lent = QuotaNode("ClusterQueue/team", nominal={"a": {"cpu": 4000}}, borrowing={"a": {"cpu": 2000}})
    borrowed, _ = find_quota_changes(admitting(lambda _: True), book, lent, [[lack("a", "cpu", 1500)]], {})
    assert "/spec/resourceGroups/0/flavors/0/resources/0/borrowingLimit" in borrowed.commands[0]
    assert '"3500m"' in borrowed.commands[0]


# --- requests ---------------------------------------------------------------------------------------------------------


def test_requests_are_lowered_to_an_equal_part_of_what_is_left():
    trials = admitting(lambda _: True, ("shop/x",))
    asks = [{"cpu": 2000, "memory": 4 * GIB}] * 2
    lacks = [[], [lack("a", "cpu", 4000, 3000), lack("a", "memory", 8 * GIB, 2 * GIB)]]
    change = change_request(trials, "shop/j", asks, lacks)
    assert change.steps == (
        AdmissionStep("request", "shop/j", "a", "cpu", 2000, 1500),
        AdmissionStep("request", "shop/j", "a", "memory", 4 * GIB, GIB),
    )
    assert trials.tried == [{"cpu": 1500, "memory": GIB}]
    assert change.text == (
        "each pod requests 1500m of cpu instead of 2, 1Gi of memory instead of 4Gi; then shop/x loses its places"
    )
    assert (change.commands, change.others) == ((), ("shop/x",))


@pytest.mark.parametrize(
    ("asks", "left"),
    [
        ([{"cpu": 2000}, {"cpu": 1000}], 2000),
        ([{"cpu": 2000}, {}], 2000),
        ([{"cpu": 2000}], 0),
        ([{"cpu": 2000}], -5),
        ([{"gpu": 2}] * 3, 2),
    ],
)
def test_no_request_is_proposed_if_pods_differ_or_nothing_is_left(asks, left):
    trials = admitting(lambda _: True)
    resource = "gpu" if "gpu" in asks[0] else "cpu"
    assert change_request(trials, "shop/j", asks, [[lack("a", resource, 9000, left)]]) is None
    assert trials.tried == []


def test_flavors_with_which_requests_can_be_lowered_are_sought_among_the_first():
    lacks = [[lack("a", "cpu", 4, left)] for left in (0, 1, 2, 3)]
    asks = [{"cpu": 4}]
    assert change_request(admitting(lambda _: True), "j", asks, lacks).steps[0].after == 1
    trials = admitting(lambda asked: asked["cpu"] == 3)
    assert change_request(trials, "j", asks, lacks) is None
    assert trials.tried == [{"cpu": 1}, {"cpu": 2}]


# --- priorities -------------------------------------------------------------------------------------------------------


def classes(**values: int) -> list[PriorityClass]:
    return [PriorityClass(ObjectMeta(name=name), value) for name, value in values.items()]


@pytest.mark.parametrize("least", [6, 8, 10, 12])
def test_the_least_priority_that_helps_is_found(least):
    trials = admitting(lambda priority: priority >= least)
    change = change_priority(trials, "shop/j", 5, {4, 5, 7, 9, 11, 3}, [])
    assert change.steps == (AdmissionStep("priority", "shop/j", "", "", 5, least),)
    assert change.text == f"a priority of {least} or more instead of 5"
    assert {*trials.tried} <= {6, 8, 10, 12}


def test_no_priority_helps_against_those_of_less():
    trials = admitting(lambda _: True)
    assert change_priority(trials, "j", 5, {3, 4}, []) is None
    assert change_priority(trials, "j", 5, {2**31 - 1}, []) is None
    assert trials.tried == []
    assert change_priority(trials, "j", 5, {2**31 - 2}, []).steps[0].after == 2**31 - 1
    assert change_priority(admitting(lambda _: False), "j", 5, {5}, []) is None


def test_the_least_class_that_is_enough_is_named():
    trials = admitting(lambda _: True, ("shop/x", "shop/y"))
    change = change_priority(trials, "j", 0, {0}, classes(less=0, high=100, fit=1, more=2))
    assert change.text == (
        "a priority of 1 or more instead of 0 (PriorityClass fit has 1); then shop/x, shop/y lose their places"
    )
    assert change.others == ("shop/x", "shop/y")
    kueue = [WorkloadPriorityClass(ObjectMeta(name="urgent"), 7)]
    change = change_priority(admitting(lambda _: True), "j", 0, {0}, kueue)
    assert change.text.endswith("(WorkloadPriorityClass urgent has 7)")
