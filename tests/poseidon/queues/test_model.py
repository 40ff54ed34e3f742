"""Quotas and flavors as the solver is told of them."""

from __future__ import annotations

import json

import pytest

from poseidon.kube.parsing.defects import Defect
from poseidon.queues.model import CoveredResources, Flavor, PreemptionPolicies, QuotaNode
from poseidon.queues.plain_trees import PlainQuota, grow_trees


def test_a_quota_without_settings_is_told_with_the_defaults_of_kueue():
    assert json.loads(QuotaNode("ClusterQueue/team").payload()) == {
        "parent": "",
        "flavors": [],
        "nominal": {},
        "borrowing": {},
        "lending": {},
        "limit": {},
        "guarantee": {},
        "weight": 1.0,
        "order": "BestEffortFIFO",
        "whenCanBorrow": "MayStopSearch",
        "whenCanPreempt": "TryNextFlavor",
        "preference": "BorrowingOverPreemption",
        "preemption": {
            "within": "Never",
            "reclaim": "Never",
            "borrow": {"policy": "Never", "threshold": None},
        },
        "fair": False,
        "uncovered": "refuse",
        "active": True,
        "message": "",
    }


def test_settings_are_told_in_the_words_of_kueue():
    quota = QuotaNode(
        "ClusterQueue/a/b",
        "Cohort/all",
        (CoveredResources(("cpu", "memory"), ("spot", "dear")),),
        nominal={"spot": {"cpu": 5}, "dear": {}},
        open_ended=True,
        fair=True,
        reclaimable=False,
        pod_set_flavors="Same",
        preemption=PreemptionPolicies(threshold=7, strategies=("LessThanInitialShare",), beyond_quota=False),
        problem="stopped",
    )
    found = json.loads(quota.payload())
    assert quota.title == "a/b"
    assert found["flavors"] == [{"resources": ["cpu", "memory"], "flavors": ["spot", "dear"]}]
    assert found["nominal"] == {"spot": {"cpu": 5}}
    assert (found["uncovered"], found["active"], found["message"]) == ("allow", False, "stopped")
    assert (found["podSetFlavors"], found["fair"], found["parent"]) == ("Same", True, "Cohort/all")
    assert found["preemption"]["borrow"]["threshold"] == 7
    assert found["preemption"]["strategies"] == ["LessThanInitialShare"]
    assert found["preemption"]["beyondQuota"] is False
    assert found["reclaimable"] is False


def test_a_flavor_is_told_with_its_labels_taints_and_tolerations():
    flavor = Flavor("spot", {"zone": "a"}, ({"key": "k"},), ({"key": "t"},))
    assert json.loads(flavor.payload()) == {
        "labels": {"zone": "a"},
        "taints": [{"key": "k"}],
        "tolerations": [{"key": "t"}],
    }


@pytest.mark.parametrize(
    ("more", "reason", "problem", "nominal"),
    [
        ({}, "", "", {"": {"cpu": 4}}),
        ({"problem": "closed"}, "Stopped", "closed", {"": {"cpu": 4}}),
        ({"defects": [Defect("spec.x", "is odd")]}, "InvalidSpec", "spec.x: is odd", {}),
    ],
)
def test_a_queue_without_flavors_says_why_it_admits_nothing(more, reason, problem, nominal):
    tree = grow_trees([PlainQuota("Queue/a", nominal={"cpu": 4}, **more)], {}, fair=False, open_ended=False)
    [quota] = tree.quotas
    assert (quota.reason, quota.problem) == (reason, problem)
    assert [*quota.nominal.values()] == [*nominal.values()]


@pytest.mark.parametrize("lends", [True, False, None])
def test_a_queue_lends_what_it_leaves_unless_said(lends):
    more = {} if lends is None else {"lends": lends}
    tree = grow_trees([PlainQuota("Queue/a", nominal={"cpu": 4}, **more)], {}, fair=False, open_ended=False)
    [quota] = tree.quotas
    assert bool(quota.lending) is (lends is False)
    assert all(amount == 0 for amounts in quota.lending.values() for amount in amounts.values())
