"""Queues of Volcano and KAI, and ElasticQuotas, at their boundaries: amounts, weights, states, and what is ignored."""

from __future__ import annotations

import math
from typing import Any

import pytest

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.queues.elastic_quotas import is_parent, list_namespaces
from poseidon.queues.model import UNLIMITED
from poseidon.queues.plain_trees import ANY_NODE
from tests.poseidon.queues.objects import elastic_quota, kai_queue, volcano_queue
from tests.poseidon.queues.test_plain_trees import (
    PREFIX,
    by_name,
    kai,
    koordinator,
    labelled,
    plugins,
    volcano,
)

GPU = "nvidia.com/gpu"


def of_volcano(**spec: Any):
    return by_name(volcano(volcano_queue("a", **spec)))["VolcanoQueue/a"]


def of_kai(**resources: Any):
    return by_name(kai(kai_queue("a", resources=resources)))["KaiQueue/a"]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"weight": 1}, ""),
        ({"weight": 2**31 - 1}, ""),
        ({"weight": 2**31}, f"spec.weight: {2**31} is out of range; give 1 or more"),
        ({"weight": -1}, "spec.weight: -1 is out of range; give 1 or more"),
        ({"capability": {"cpu": 4}, "deserved": {"cpu": 4}}, ""),
        (
            {"capability": {"cpu": 4}, "deserved": {"cpu": "4001m"}},
            "spec.deserved.cpu: is more than spec.capability.cpu; lower it, or raise that",
        ),
        (
            {"capability": {"cpu": 4}, "guarantee": {"resource": {"cpu": 5}}},
            "spec.deserved.cpu: is more than spec.capability.cpu; lower it, or raise that",
        ),
        ({"parent": "-"}, "spec.parent: '-' is no name of an object; correct or remove it"),
    ],
)
def test_a_queue_of_volcano_makes_sense_or_says_what_does_not(spec, problem):
    assert of_volcano(**spec).problem == problem


def test_a_guarantee_is_a_queues_own_even_beyond_what_it_deserves():
    found = of_volcano(deserved={"cpu": 1, "memory": 5}, guarantee={"resource": {"cpu": 2, GPU: 1}})
    assert found.nominal == {ANY_NODE: {"cpu": 2000, "memory": 5, GPU: 1}}
    assert found.guarantee == {ANY_NODE: {"cpu": 2000, GPU: 1}}


@pytest.mark.parametrize(
    ("state", "closed"), [("Open", False), ("Closed", True), ("Closing", True), ("", False)]
)
def test_a_closed_queue_of_volcano_admits_nothing(state, closed):
    made = {**volcano_queue("a"), "status": {"state": state}}
    problem = "is closed; open it (vcctl queue operate -a open)" if closed else ""
    assert by_name(volcano(made))["VolcanoQueue/a"].problem == problem


@pytest.mark.parametrize(
    ("strategy", "order"), [("fifo", "StrictFIFO"), ("traverse", "BestEffortFIFO"), ("", "BestEffortFIFO")]
)
def test_the_order_of_a_queue_of_volcano(strategy, order):
    assert of_volcano(dequeueStrategy=strategy).order == order


@pytest.mark.parametrize(
    ("spec", "ignored"),
    [
        ({}, ""),
        ({"reclaimable": False}, ""),
        (
            {"priority": 1},
            "spec.priority: is not honoured; queues are ordered by their shares, pods by their priority",
        ),
        ({"priority": 0}, ""),
    ],
)
def test_what_of_volcano_is_not_honoured(spec, ignored):
    assert volcano(volcano_queue("a", **spec)).ignored.get("VolcanoQueue/a", "") == ignored


@pytest.mark.parametrize(
    ("spec", "reclaimable"), [({}, True), ({"reclaimable": True}, True), ({"reclaimable": False}, False)]
)
def test_others_take_back_from_a_queue_of_volcano_unless_it_says_no(spec, reclaimable):
    assert of_volcano(**spec).reclaimable is reclaimable


def test_queues_are_below_the_root_unless_they_name_a_parent():
    found = by_name(volcano(volcano_queue("a"), volcano_queue("b", parent="a"), volcano_queue("root")))
    assert [found[f"VolcanoQueue/{name}"].parent for name in ("a", "b", "root")] == [
        "VolcanoQueue/root",
        "VolcanoQueue/a",
        "",
    ]
    other = by_name(kai(kai_queue("a"), kai_queue("b", parentQueue="a")))
    assert [other[f"KaiQueue/{name}"].parent for name in "ab"] == ["KaiQueues/all", "KaiQueue/a"]


@pytest.mark.parametrize(
    ("given", "nominal", "limit"),
    [
        ({"quota": 1500}, 1500, None),
        ({"quota": 0}, 0, None),
        ({"quota": -1}, UNLIMITED, None),
        ({"quota": 1, "limit": 5}, 1, 5),
        ({"quota": 5, "limit": 1}, 5, 5),
        ({"quota": -1, "limit": 1}, UNLIMITED, 1),
        ({"quota": 1, "limit": 0}, 1, 1),
        ({"quota": 1e300}, UNLIMITED, None),
    ],
)
def test_amounts_of_a_queue_of_kai(given, nominal, limit):
    found = of_kai(cpu=given)
    assert found.nominal[ANY_NODE]["cpu"] == nominal
    assert found.limit.get(ANY_NODE, {}).get("cpu") == limit
    assert found.problem == ""


def test_units_of_kai_are_thousandths_megabytes_and_devices():
    found = of_kai(cpu={"quota": 1}, memory={"quota": 2}, gpu={"quota": 3})
    assert found.nominal == {ANY_NODE: {"cpu": 1, "memory": 2_000_000, GPU: 3}}
    assert by_name(kai(kai_queue("a")))["KaiQueue/a"].nominal == {}


@pytest.mark.parametrize("amount", [-2, -0.5])
def test_amounts_below_nothing_are_refused(amount):
    problem = f"spec.resources.cpu.quota: {amount:g} is out of range; give 0 or more, or -1 for no limit"
    assert of_kai(cpu={"quota": amount}).problem == problem
    assert of_kai(cpu={"limit": amount}).problem == problem.replace("quota:", "limit:")


@pytest.mark.parametrize(
    ("weights", "weight", "problem"),
    [
        ({}, 1.0, ""),
        ({"cpu": {"overQuotaWeight": 0}}, 0.0, ""),
        ({"cpu": {"overQuotaWeight": 2}, "gpu": {"overQuotaWeight": 3}}, 3.0, ""),
        (
            {"cpu": {"overQuotaWeight": -1}},
            1.0,
            "spec.resources.cpu.overQuotaWeight: -1.0 is out of range; give 0 or more",
        ),
    ],
)
def test_the_largest_weight_of_a_queue_of_kai_counts(weights, weight, problem):
    found = of_kai(**weights)
    assert (found.weight, found.problem) == (weight, problem)
    assert math.isfinite(found.weight)


@pytest.mark.parametrize(
    ("spec", "ignored"),
    [
        ({}, ""),
        ({"priority": 5}, "spec.priority: is not honoured"),
        ({"priority": 0}, ""),
        (
            {"preemptMinRuntime": "1m", "reclaimMinRuntime": "1m"},
            "spec.preemptMinRuntime: is not honoured; spec.reclaimMinRuntime: is not honoured",
        ),
        ({"resources": {"cpu": {"overQuotaWeight": 2}, "gpu": {"overQuotaWeight": 2}}}, ""),
        (
            {"resources": {"cpu": {"overQuotaWeight": 2}, "gpu": {"overQuotaWeight": 3}}},
            "spec.resources: the largest overQuotaWeight counts for all resources",
        ),
    ],
)
def test_what_of_kai_is_not_honoured(spec, ignored):
    assert kai(kai_queue("a", **spec)).ignored.get("KaiQueue/a", "") == ignored


# --- ElasticQuotas --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"min": {"cpu": 2}, "max": {"cpu": 2}}, ""),
        ({"min": {"cpu": 2}, "max": {}}, ""),
        (
            {"min": {"cpu": 3}, "max": {"cpu": 2}},
            "spec.min.cpu: is more than spec.max.cpu; lower it, or raise that",
        ),
    ],
)
def test_bounds_of_elastic_quotas(spec, problem):
    assert by_name(plugins(elastic_quota("a", **spec)))["ElasticQuota/shop/a"].problem == problem


def test_of_several_quotas_of_a_namespace_the_first_by_name_counts():
    found = by_name(
        plugins(
            elastic_quota("b", min={"cpu": 1}),
            elastic_quota("a", min={"cpu": 2}),
            elastic_quota("c", "other"),
        )
    )
    assert found["ElasticQuota/shop/a"].problem == ""
    assert found["ElasticQuota/shop/a"].nominal == {ANY_NODE: {"cpu": 2000}}
    assert (
        found["ElasticQuota/shop/b"].problem
        == "ElasticQuota a counts for this namespace; a namespace has one"
    )
    assert found["ElasticQuota/shop/b"].nominal == {}
    assert found["ElasticQuota/other/c"].problem == ""


@pytest.mark.parametrize(
    ("labels", "parent"),
    [
        ({}, "KoordinatorQuota/koordinator-root-quota"),
        ({"parent": "up"}, "KoordinatorQuota/up"),
        ({"parent": "koordinator-root-quota"}, "KoordinatorQuota/koordinator-root-quota"),
        ({"tree-id": "t"}, "KoordinatorQuota/t/koordinator-root-quota"),
        ({"tree-id": "t", "parent": "up"}, "KoordinatorQuota/up"),
    ],
)
def test_quotas_of_koordinator_have_a_root_for_each_tree(labels, parent):
    found = by_name(koordinator(labelled("a", labels), labelled("up")))
    assert found["KoordinatorQuota/a"].parent == parent


@pytest.mark.parametrize(
    ("annotations", "spec", "weight"),
    [
        ({}, {}, 1.0),
        ({}, {"max": {"cpu": 4}}, 4.0),
        ({}, {"max": {GPU: 4000, "memory": 2000}}, 2.0),
        ({"shared-weight": '{"cpu": "6"}'}, {"max": {"cpu": 4}}, 6.0),
        ({"shared-weight": '{"memory": "3000"}'}, {}, 3.0),
        ({"shared-weight": "{}"}, {"max": {"cpu": 4}}, 1.0),
        ({"shared-weight": '{"cpu": 0}'}, {}, 1.0),
    ],
)
def test_the_weight_is_stated_or_the_limit(annotations, spec, weight):
    assert by_name(koordinator(labelled("a", {}, annotations, **spec)))["KoordinatorQuota/a"].weight == weight


def test_a_weight_that_is_no_map_is_a_problem():
    found = by_name(koordinator(labelled("a", {}, {"shared-weight": "5"})))["KoordinatorQuota/a"]
    assert (
        found.problem
        == f'annotation {PREFIX}/shared-weight: is no map of amounts; write one such as {{"cpu": "40"}}'
    )


@pytest.mark.parametrize(
    ("stated", "said"), [('{"cpu": 1}', False), ('{"cpu": 1, "memory": 2}', True), ("", False)]
)
def test_weights_of_several_resources_are_not_honoured(stated, said):
    tree = koordinator(labelled("a", {}, {"shared-weight": stated} if stated else {}))
    assert bool(tree.ignored.get("KoordinatorQuota/a")) is said


@pytest.mark.parametrize(
    ("label", "lends"),
    [({}, True), ({"allow-lent-resource": "false"}, False), ({"allow-lent-resource": "true"}, True)],
)
def test_a_quota_lends_unless_it_says_otherwise(label, lends):
    quota = by_name(koordinator(labelled("a", label, min={"cpu": 1})))["KoordinatorQuota/a"]
    assert (quota.guarantee == {} and quota.lending == {}) is lends


def test_which_namespaces_use_a_quota():
    def read(text: str) -> list[str]:
        return list_namespaces(ObjectMeta(annotations={f"{PREFIX}/namespaces": text}))

    assert read('["a", "b"]') == ["a", "b"]
    assert read("a") == read("[1]") == []
    assert list_namespaces(ObjectMeta()) == []
    assert is_parent(ObjectMeta(labels={f"{PREFIX}/is-parent": "true"}))
    assert not is_parent(ObjectMeta(labels={f"{PREFIX}/is-parent": "false"}))
    assert not is_parent(ObjectMeta())
