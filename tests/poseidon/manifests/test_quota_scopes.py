"""Quotas of namespaces: which pods they cover, what these use, and what is said of those beyond."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from poseidon.kube.api.namespaces import ResourceQuota
from poseidon.kube.api.pods import Pod
from poseidon.manifests.admission.quotas import ResourceQuotaUse, describe_excess, limits_pods_alone, usage_of


def quota(name: str = "q", *scopes: str, selected: Any = (), used: Any = None, **hard: Any) -> ResourceQuota:
    spec = {
        "hard": hard or {"pods": "1"},
        "scopes": scopes,
        "scopeSelector": {"matchExpressions": list(selected)},
    }
    metadata = {"name": name, "namespace": "shop"}
    return msgspec.convert(
        {"metadata": metadata, "spec": spec, "status": {"used": used or {}}}, ResourceQuota
    )


def pod(
    name: str = "p", *, namespace: str = "shop", phase: str = "Pending", cpu: Any = "1", **spec: Any
) -> Pod:
    resources = {} if cpu is None else {"requests": {"cpu": cpu}}
    containers = [{"name": "c", "resources": resources}]
    metadata = {"name": name, "namespace": namespace}
    return msgspec.convert(
        {"metadata": metadata, "spec": {"containers": containers, **spec}, "status": {"phase": phase}}, Pod
    )


def near(*terms: dict[str, Any], kind: str = "podAffinity") -> dict[str, Any]:
    rules = [{"topologyKey": "zone", **each} for each in terms]
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": rules}}}


def prefers(**term: Any) -> dict[str, Any]:
    rule = {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", **term}}
    return {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [rule]}}}


CROSSING = "CrossNamespacePodAffinity"


@pytest.mark.parametrize(
    ("scope", "found", "covered"),
    [
        ("BestEffort", pod(cpu=None), True),
        ("BestEffort", pod(), False),
        ("NotBestEffort", pod(), True),
        ("NotBestEffort", pod(cpu=None), False),
        ("Terminating", pod(activeDeadlineSeconds=0), True),
        ("Terminating", pod(), False),
        ("NotTerminating", pod(), True),
        ("NotTerminating", pod(activeDeadlineSeconds=5), False),
        ("PriorityClass", pod(priorityClassName="high"), True),
        ("PriorityClass", pod(), False),
        (CROSSING, pod(**near({"namespaces": ["app"]})), True),
        (CROSSING, pod(**near({}, {"namespaceSelector": {}})), True),
        (CROSSING, pod(**near({}, kind="podAntiAffinity")), False),
        (CROSSING, pod(**prefers(namespaces=["app"])), True),
        (CROSSING, pod(**prefers()), False),
        (CROSSING, pod(), False),
        ("Unknown", pod(), False),
    ],
)
def test_a_scope_says_which_pods_are_covered(scope, found, covered):
    assert bool(ResourceQuotaUse([quota("q", scope, pods="0")], []).admit(found)) is covered
    selected = [{"scopeName": scope, "operator": "Exists"}]
    assert bool(ResourceQuotaUse([quota(selected=selected, pods="0")], []).admit(found)) is covered


@pytest.mark.parametrize(
    ("operator", "values", "name", "covered"),
    [
        ("In", ["high", "top"], "high", True),
        ("In", ["high"], "low", False),
        ("In", ["high"], "", False),
        ("NotIn", ["high"], "low", True),
        ("NotIn", ["high"], "high", False),
        ("Exists", [], "x", True),
        ("Exists", [], "", False),
        ("DoesNotExist", [], "", True),
        ("DoesNotExist", [], "x", False),
    ],
)
def test_priority_classes_are_selected_by_name(operator, values, name, covered):
    selected = [{"scopeName": "PriorityClass", "operator": operator, "values": values}]
    found = quota(selected=selected, pods="0")
    assert bool(ResourceQuotaUse([found], []).admit(pod(priorityClassName=name))) is covered


def test_all_scopes_have_to_cover_a_pod():
    both = quota("q", "NotBestEffort", "Terminating", pods="0")
    book = ResourceQuotaUse([both], [])
    assert book.admit(pod()) == ""
    assert book.admit(pod(activeDeadlineSeconds=5)) != ""
    absent = [{"scopeName": "Terminating", "operator": "DoesNotExist"}]
    assert ResourceQuotaUse([quota("q", "NotBestEffort", selected=absent, pods="0")], []).admit(pod()) != ""
    assert [limits_pods_alone(each) for each in (both, quota(selected=absent), quota())] == [
        True,
        True,
        False,
    ]


def test_unknown_scopes_are_named():
    quotas = [quota("a", "Odd"), quota("b", "Odd", "BestEffort"), quota("c")]
    [line] = ResourceQuotaUse(quotas, []).warn_of_unknown_scopes()
    assert line == "ResourceQuota shop/a and 1 more: spec.scopes: Odd is ignored"
    assert list(ResourceQuotaUse([quota()], []).warn_of_unknown_scopes()) == []


def test_a_pod_uses_its_requests_and_limits_under_the_names_of_quotas():
    limits = {"cpu": "2", "example.com/gpu": "1"}
    found = pod()
    found = msgspec.structs.replace(
        found,
        spec=msgspec.convert(
            {
                "containers": [
                    {
                        "name": "c",
                        "resources": {"requests": {"cpu": "1", "example.com/gpu": 1}, "limits": limits},
                    }
                ]
            },
            type(found.spec),
        ),
    )
    used = usage_of(found)
    assert {key: value for key, value in used.items() if "pods" not in key} == {
        "requests.cpu": 1000,
        "cpu": 1000,
        "requests.example.com/gpu": 1,
        "limits.cpu": 2000,
    }
    assert used["pods"] == 1


@pytest.mark.parametrize(("limit", "refused"), [("3", False), ("2999m", True)])
def test_a_pod_beyond_a_quota_is_refused_in_the_api_servers_words(limit, refused):
    there = [pod("a"), pod("b"), pod("ended", phase="Succeeded"), pod("other", namespace="app")]
    book = ResourceQuotaUse([quota(cpu=limit)], there)
    expected = "exceeded quota: q, requested: cpu=1, used: cpu=2, limited: cpu=2999m" if refused else ""
    assert book.admit(pod("c")) == expected
    assert book.admit(pod("elsewhere", namespace="app")) == ""


def test_what_was_charged_counts_for_the_next_and_what_was_refused_does_not():
    book = ResourceQuotaUse([quota(pods="2", cpu="3")], [])
    assert book.admit(pod("a")) == ""
    assert "cpu" in book.admit(pod("large", cpu="5"))
    assert book.admit(pod("b")) == ""
    assert book.admit(pod("c")).startswith(
        "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"
    )


def test_the_larger_of_known_and_stated_use_counts():
    book = ResourceQuotaUse([quota(pods="3", used={"pods": "2"})], [pod("a")])
    assert book.admit(pod("b")) == ""
    assert book.admit(pod("c")) != ""


def test_containers_have_to_state_what_a_quota_limits():
    book = ResourceQuotaUse([quota(**{"cpu": "9", "limits.memory": "9Gi"})], [])
    assert book.admit(pod(cpu=None)) == "failed quota: q: must specify cpu for: c; limits.memory for: c"
    assert book.admit(pod()) == "failed quota: q: must specify limits.memory for: c"


def test_nothing_is_beyond_a_quota_of_what_is_not_asked_for():
    assert describe_excess(quota(cpu="1"), {"cpu": 5000}, {"memory": 1}) == ""
