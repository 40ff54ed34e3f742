"""Kueue's objects as a tree of quotas: what they say, and what makes no sense in them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.other_projects.queues import ClusterQueue, Cohort, ResourceFlavor
from poseidon.queues.kueue import read_kueue
from tests.poseidon.queues.objects import cluster_queue, cohort, flavor, quotas

GPU = "nvidia.com/gpu"
STRUCTS: dict[str, Any] = {"ClusterQueue": ClusterQueue, "Cohort": Cohort, "ResourceFlavor": ResourceFlavor}


def read(*objects, fair=False, strategies=()):
    """The tree of these objects, with a flavor `default`."""
    found: dict[str, Any] = {kind: [] for kind in STRUCTS}
    for each in (flavor(), *objects):
        found[each["kind"]].append(convert_object(each, STRUCTS[each["kind"]]))
    return read_kueue(
        found["ClusterQueue"], found["Cohort"], found["ResourceFlavor"], fair=fair, strategies=strategies
    )


def quotas_of(*objects, **more):
    return {quota.name: quota for quota in read(*objects, **more).quotas}


def problem_of(name, *objects):
    return quotas_of(*objects)[name].problem


def reason_of(name, *objects):
    return quotas_of(*objects)[name].reason


@pytest.mark.parametrize("version", ["kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2"])
def test_a_queue_has_its_quotas_in_the_units_of_the_protocol(version):
    group = quotas(cpu=("1500m", 2, "500m"), memory="2Gi")
    found = quotas_of(cluster_queue("a", group, cohort="team", version=version))
    quota = found["ClusterQueue/a"]
    assert quota.parent == "Cohort/team"
    assert quota.nominal == {"default": {"cpu": 1500, "memory": 2**31}}
    assert quota.borrowing == {"default": {"cpu": 2000}}
    assert quota.lending == {"default": {"cpu": 500}}
    assert [(each.resources, each.flavors) for each in quota.covered] == [(("cpu", "memory"), ("default",))]
    assert quota.problem == ""
    assert found["Cohort/team"].nominal == {}, "a cohort without an object has nothing of its own"


def test_the_record_says_what_the_queue_says():
    preemption = {
        "withinClusterQueue": "LowerOrNewerEqualPriority",
        "reclaimWithinCohort": "Any",
        "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 100},
    }
    objects = (
        cluster_queue(
            "a",
            quotas(cpu=4),
            cohort="c",
            preemption=preemption,
            queueingStrategy="StrictFIFO",
            flavorFungibility={
                "whenCanBorrow": "TryNextFlavor",
                "whenCanPreempt": "MayStopSearch",
                "preference": "PreemptionOverBorrowing",
            },
            fairSharing={"weight": "500m"},
        ),
        cohort("c", quotas(cpu=1), parent="root"),
    )
    assert json.loads(
        quotas_of(*objects, fair=True, strategies=["LessThanInitialShare"])["ClusterQueue/a"].payload()
    ) == {
        "parent": "Cohort/c",
        "flavors": [{"resources": ["cpu"], "flavors": ["default"]}],
        "nominal": {"default": {"cpu": 4000}},
        "borrowing": {},
        "lending": {},
        "limit": {},
        "guarantee": {},
        "weight": 0.5,
        "order": "StrictFIFO",
        "whenCanBorrow": "TryNextFlavor",
        "whenCanPreempt": "MayStopSearch",
        "preference": "PreemptionOverBorrowing",
        "preemption": {
            "within": "LowerOrNewerEqualPriority",
            "reclaim": "Any",
            "borrow": {"policy": "LowerPriority", "threshold": 100},
            "strategies": ["LessThanInitialShare"],
        },
        "fair": True,
        "uncovered": "refuse",
        "active": True,
        "message": "",
    }
    assert json.loads(quotas_of(*objects)["Cohort/c"].payload())["parent"] == "Cohort/root"


def test_a_flavor_says_which_nodes_it_covers():
    found = flavor("spot", tier="spot")
    found["spec"]["nodeTaints"] = [{"key": "spot", "value": "yes", "effect": "NoSchedule"}]
    found["spec"]["tolerations"] = [{"key": "spot", "operator": "Exists"}]
    (spot,) = (each for each in read(found).flavors if each.name == "spot")
    assert json.loads(spot.payload()) == {
        "labels": {"tier": "spot"},
        "taints": [{"key": "spot", "value": "yes", "effect": "NoSchedule"}],
        "tolerations": [{"key": "spot", "operator": "Exists", "value": "", "effect": ""}],
    }


def many_flavors(count):
    names = [f"f{index}" for index in range(count)]
    flavors = [{"name": name, "resources": [{"name": "cpu", "nominalQuota": 1}]} for name in names]
    return [flavor(name) for name in names], {"coveredResources": ["cpu"], "flavors": flavors}


def with_flavors(count):
    objects, group = many_flavors(count)
    return (*objects, cluster_queue("a", group))


def with_resources(count):
    return (cluster_queue("a", quotas("default", **{f"example.com/r{index}": 1 for index in range(count)})),)


def with_groups(count):
    objects, _ = many_flavors(count)
    return (*objects, cluster_queue("a", *(quotas(f"f{at}", **{f"x.io/r{at}": 1}) for at in range(count))))


@pytest.mark.parametrize(("make", "most"), [(with_flavors, 64), (with_resources, 64), (with_groups, 16)])
def test_as_many_as_the_api_takes_and_no_more(make, most):
    assert problem_of("ClusterQueue/a", *make(most)) == ""
    assert str(most) in problem_of("ClusterQueue/a", *make(most + 1))


FAULTS = {
    "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: ": [cluster_queue("a", quotas(cpu="lots"))],
    "'-1' is negative": [cluster_queue("a", quotas(cpu="-1"))],
    "borrowingLimit: there is no cohort": [cluster_queue("a", quotas(cpu=(1, 1, None)))],
    "lendingLimit: there is no cohort": [cluster_queue("a", quotas(cpu=(1, None, 1)))],
    "resource 'cpu' is in 2 groups": [flavor("b"), cluster_queue("a", quotas(cpu=1), quotas("b", cpu=1))],
    "flavor 'default' is in 2 groups": [cluster_queue("a", quotas(cpu=1), quotas(memory=1))],
    "spec.queueingStrategy: 'LIFO' is not one of": [cluster_queue("a", queueingStrategy="LIFO")],
    "spec.preemption.reclaimWithinCohort: 'Some'": [
        cluster_queue("a", preemption={"reclaimWithinCohort": "Some"})
    ],
    "spec.fairSharing.weight: ": [cluster_queue("a", fairSharing={"weight": "-1"})],
    "spec.namespaceSelector": [cluster_queue("a", namespaceSelector={"matchLabels": {"-": "x"}})],
    "are not those of coveredResources": [
        cluster_queue("a", {**quotas(cpu=1), "coveredResources": ["cpu", "memory"]})
    ],
    "has 0 entries; give 1 to 64": [cluster_queue("a", {"coveredResources": ["cpu"]})],
}


@pytest.mark.parametrize("problem", FAULTS)
def test_what_makes_no_sense_is_said_and_stops_nobody_else(problem):
    found = quotas_of(*FAULTS[problem], cluster_queue("sound", quotas(cpu=1)))
    faulty = found["ClusterQueue/a"]
    assert problem in faulty.problem
    assert faulty.reason == "InvalidSpec"
    assert faulty.nominal == {}, "it lends nothing"
    assert "\n" not in faulty.problem
    assert json.loads(faulty.payload())["active"] is False
    assert found["ClusterQueue/sound"].problem == ""


@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
def test_a_stopped_queue_lets_nobody_in(policy):
    queue = cluster_queue("a", quotas(cpu=1), stopPolicy=policy)
    assert problem_of("ClusterQueue/a", queue).startswith("is stopped")
    assert reason_of("ClusterQueue/a", queue) == "Stopped"
    assert problem_of("ClusterQueue/a", cluster_queue("a", quotas(cpu=1), stopPolicy="None")) == ""


def test_a_queue_of_a_flavor_that_does_not_exist_admits_nothing():
    queue = cluster_queue("a", quotas("gone", cpu=1))
    assert problem_of("ClusterQueue/a", queue) == (
        "ResourceFlavor gone does not exist; create it, or remove it here"
    )
    assert reason_of("ClusterQueue/a", queue) == "FlavorNotFound"


def test_a_queue_with_admission_checks_admits_nothing():
    for given in (
        {"admissionChecks": ["provisioning"]},
        {"admissionChecksStrategy": {"admissionChecks": [{"name": "provisioning"}]}},
    ):
        queue = cluster_queue("a", quotas(cpu=1), **given)
        assert "provisioning" in problem_of("ClusterQueue/a", queue)


def test_cohorts_in_a_circle_stop_the_queues_below_them_alone():
    found = quotas_of(
        cohort("x", parent="y"),
        cohort("y", parent="x"),
        cohort("below", parent="x"),
        cluster_queue("in", quotas(cpu=1), cohort="y"),
        cluster_queue("under", quotas(cpu=1), cohort="below"),
        cluster_queue("elsewhere", quotas(cpu=1), cohort="z"),
    )
    inactive = {name for name, quota in found.items() if quota.problem}
    assert inactive == {"Cohort/x", "Cohort/y", "Cohort/below", "ClusterQueue/in", "ClusterQueue/under"}
    assert all(found[name].parent == "" for name in inactive), "no circle reaches the solver"
    assert found["ClusterQueue/in"].reason == "CohortCycle"


def test_a_faulty_cohort_stops_the_queues_below_it():
    found = quotas_of(
        cohort("bad", quotas(cpu="many")),
        cohort("middle", parent="bad"),
        cluster_queue("a", quotas(cpu=1), cohort="middle"),
        cluster_queue("b", quotas(cpu=1)),
    )
    assert found["ClusterQueue/a"].problem.startswith("Cohort bad: spec.resourceGroups[0]")
    assert found["ClusterQueue/b"].problem == ""


def test_what_is_not_honoured_is_named():
    tree = read(
        cluster_queue("a", admissionScope={}),
        cluster_queue("plain", flavorFungibility={"whenCanPreempt": "MayStopSearch"}),
    )
    assert tree.ignored.keys() == {"ClusterQueue/a"}
    assert "spec.admissionScope" in tree.ignored["ClusterQueue/a"]


@pytest.mark.parametrize(("policy", "ignored"), [("Hold", None), ("HoldAndDrain", True), ("None", None)])
def test_a_queue_that_is_to_be_drained_says_that_running_pods_stay(policy: str, ignored: bool | None):
    tree = read(cluster_queue("a", quotas(cpu=1), stopPolicy=policy))
    text = tree.ignored.get("ClusterQueue/a")
    assert text == (
        "spec.stopPolicy: HoldAndDrain works as Hold; pods that run are not evicted" if ignored else None
    )


@pytest.mark.parametrize("field", ["parentName", "parent"])
def test_cohorts_name_their_parents_by_either_field(field):
    found = quotas_of(cohort("c", quotas(cpu=("1", "2", "1")), **{field: "root"}))
    assert found["Cohort/c"].parent == "Cohort/root"
    assert found["Cohort/c"].borrowing == {"default": {"cpu": 2000}}
    assert quotas_of(cohort("c", parentName="new", parent="old"))["Cohort/c"].parent == "Cohort/new"
    assert quotas_of(cohort("c"))["Cohort/c"].parent == ""


@pytest.mark.parametrize(
    ("given", "reason", "words"),
    [
        ({}, "", ""),
        ({"stopPolicy": "None"}, "", ""),
        ({"stopPolicy": "Hold"}, "Stopped", "is stopped; set spec.stopPolicy to None instead of Hold"),
        ({"stopPolicy": "HoldAndDrain"}, "Stopped", "None instead of HoldAndDrain"),
        ({"stopPolicy": "Pause"}, "InvalidSpec", "'Pause' is not one of None, Hold, HoldAndDrain"),
        ({"queueingStrategy": "LIFO"}, "InvalidSpec", "spec.queueingStrategy"),
        ({"flavorFungibility": {"whenCanBorrow": "Sometimes"}}, "InvalidSpec", "whenCanBorrow"),
        ({"flavorFungibility": {"whenCanPreempt": "Sometimes"}}, "InvalidSpec", "whenCanPreempt"),
        ({"flavorFungibility": {"preference": "Sometimes"}}, "InvalidSpec", "preference"),
        ({"preemption": {"withinClusterQueue": "Any"}}, "InvalidSpec", "withinClusterQueue"),
        (
            {"preemption": {"reclaimWithinCohort": "LowerOrNewerEqualPriority"}},
            "InvalidSpec",
            "reclaimWithinCohort",
        ),
        (
            {"preemption": {"borrowWithinCohort": {"policy": "Any"}}},
            "InvalidSpec",
            "borrowWithinCohort.policy",
        ),
        ({"admissionChecks": ["a", "b", "c", "d"]}, "AdmissionCheckNotFound", "(a, b, c)"),
        ({"admissionChecksStrategy": {"admissionChecks": [{}, 1]}}, "AdmissionCheckNotFound", "((no name)"),
        ({"admissionChecks": ["a"], "stopPolicy": "Hold"}, "Stopped", "is stopped"),
        (
            {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}},
            "InvalidSpec",
            "spec.namespaceSelector",
        ),
    ],
)
def test_why_a_queue_admits_nothing(given, reason, words):
    found = quotas_of(cluster_queue("a", quotas(cpu=1), **given))["ClusterQueue/a"]
    assert found.reason == reason
    assert words in found.problem
    assert bool(found.problem) is bool(reason)
    assert (found.nominal == {}) is (reason == "InvalidSpec"), "of a malformed one, no quota counts"


def test_a_queue_that_is_being_deleted_admits_nothing():
    queue = cluster_queue("a", quotas(cpu=1), stopPolicy="Hold")
    queue["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert reason_of("ClusterQueue/a", queue) == "Terminating"
    assert problem_of("ClusterQueue/a", queue) == "is being deleted"


def test_flavors_must_exist_and_have_labels_that_nodes_can_have():
    missing = cluster_queue("a", quotas("lost", cpu=1))
    assert reason_of("ClusterQueue/a", missing) == "FlavorNotFound"
    assert problem_of("ClusterQueue/a", missing).startswith("ResourceFlavor lost does not exist")
    labelled = (flavor("odd", tier="-"), cluster_queue("a", quotas("odd", cpu=1)))
    assert reason_of("ClusterQueue/a", *labelled) == "InvalidFlavor"
    assert "ResourceFlavor odd: spec.nodeLabels" in problem_of("ClusterQueue/a", *labelled)


@pytest.mark.parametrize(
    ("given", "borrow", "preempt", "preference"),
    [
        ({}, "MayStopSearch", "TryNextFlavor", "BorrowingOverPreemption"),
        ({"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}, "MayStopSearch", "MayStopSearch", None),
        (
            {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "MayStopSearch"},
            "TryNextFlavor",
            "MayStopSearch",
            None,
        ),
        (
            {"preference": "PreemptionOverBorrowing"},
            "MayStopSearch",
            "TryNextFlavor",
            "PreemptionOverBorrowing",
        ),
    ],
)
def test_how_far_flavors_are_searched(given, borrow, preempt, preference):
    found = quotas_of(cluster_queue("a", quotas(cpu=1), flavorFungibility=given))["ClusterQueue/a"]
    assert (found.when_can_borrow, found.when_can_preempt) == (borrow, preempt)
    assert found.preference == (preference or "BorrowingOverPreemption")


def test_the_strategies_of_shares_are_those_of_queues_alone():
    shared = quotas_of(cluster_queue("a", cohort="c"), fair=True, strategies=["LessThanInitialShare"])
    assert shared["ClusterQueue/a"].preemption.strategies == ("LessThanInitialShare",)
    assert shared["Cohort/c"].preemption.strategies == ()
    assert shared["Cohort/c"].fair
    plain = quotas_of(cluster_queue("a"), strategies=["LessThanInitialShare"])
    assert plain["ClusterQueue/a"].preemption.strategies == ()
