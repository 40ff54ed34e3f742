"""Pods that state no spread are kept apart from those of their owner, or of the same services."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from poseidon.kube.api.metadata import ObjectMeta, OwnerReference
from poseidon.kube.api.nodes import Service, ServiceSpec
from poseidon.kube.api.pod_rules import TopologySpreadConstraint
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.pod_rules.default_spread import Spreading

WEB = {"app": "web"}


def pod(labels=None, *, namespace="default", owner=None, **metadata):
    owners = () if owner is None else (OwnerReference(**{"controller": True, "uid": "o", **owner}),)
    return Pod(
        metadata=ObjectMeta(
            name="p", namespace=namespace, labels=labels or {}, owner_references=owners, **metadata
        )
    )


def service(uid, namespace="default", **selector):
    return Change(uid, Service(ObjectMeta(name=uid, namespace=namespace), ServiceSpec(selector)))


@pytest.fixture
def spreading():
    return Spreading(enabled=True)


@pytest.mark.parametrize(
    ("kind", "version", "group"),
    [
        ("ReplicaSet", "apps/v1", "default/ReplicaSet/web"),
        ("ReplicaSet", "", "default/ReplicaSet/web"),
        ("StatefulSet", "apps/v1", "default/StatefulSet/web"),
        ("Deployment", "apps/v1", "default/Deployment/web"),
        ("ReplicationController", "v1", "default/ReplicationController/web"),
        ("ReplicaSet", "example.com/v1", ""),
        ("Job", "batch/v1", ""),
    ],
)
def test_an_owner_that_makes_copies_keeps_them_apart(spreading, kind, version, group):
    assert spreading.group("u", pod(owner={"kind": kind, "name": "web", "api_version": version})) == group


def test_who_owns_a_pod_without_controlling_it_says_nothing(spreading):
    owner = {"kind": "ReplicaSet", "name": "web", "api_version": "apps/v1", "controller": False}
    assert spreading.group("u", pod(owner=owner)) == ""


def test_groups_of_other_namespaces_are_others(spreading):
    owner = {"kind": "ReplicaSet", "name": "web"}
    assert spreading.group("u", pod(owner=owner, namespace="shop")) == "shop/ReplicaSet/web"
    assert spreading.group("v", pod(owner=owner, namespace="")) == "default/ReplicaSet/web"


def test_services_group_pods_by_all_that_they_ask_for_together(spreading):
    spreading.take_services([service("s", app="web"), service("t", tier="front"), service("x", app="other")])
    assert spreading.group("a", pod(WEB)) == "default/Service/app=web"
    assert (
        spreading.group("b", pod({**WEB, "tier": "front", "more": "1"}))
        == "default/Service/app=web,tier=front"
    )
    assert spreading.group("c", pod({"tier": "back"})) == ""
    assert spreading.group("d", pod(WEB, namespace="shop")) == ""
    assert spreading.group("e", pod()) == ""


def test_an_owner_that_makes_copies_stands_for_the_services_too(spreading):
    spreading.take_services([service("s", app="web")])
    owned = pod(WEB, owner={"kind": "ReplicaSet", "name": "web"})
    assert spreading.group("a", owned) == "default/ReplicaSet/web"
    assert spreading.group("b", pod(WEB, owner={"kind": "Job", "name": "web"})) == "default/Service/app=web"


def test_pods_are_told_of_when_services_come_change_and_go(spreading):
    assert spreading.group("a", pod(WEB)) == ""
    assert spreading.group("b", pod({"app": "db"})) == ""
    assert spreading.group("c", pod(WEB, namespace="shop")) == ""
    assert spreading.take_services([service("s", app="web")]) == {"a": "default/Service/app=web", "b": ""}
    assert spreading.take_services([service("s", app="web")]) == {}, "nothing new"
    assert spreading.take_services([service("s", app="db")]) == {"a": "", "b": "default/Service/app=db"}
    assert spreading.take_services([Change("s", None)]) == {"a": "", "b": ""}
    assert spreading.take_services([Change("s", None)]) == {}


def test_a_service_that_moves_concerns_both_namespaces(spreading):
    spreading.group("a", pod(WEB))
    spreading.group("c", pod(WEB, namespace="shop"))
    spreading.take_services([service("s", app="web")])
    assert spreading.take_services([service("s", "shop", app="web")]) == {
        "a": "",
        "c": "shop/Service/app=web",
    }


def test_a_service_without_a_selector_selects_nobody(spreading):
    spreading.group("a", pod(WEB))
    assert spreading.take_services([service("s")]) in ({}, {"a": ""})
    assert spreading.group("b", pod(WEB)) == ""


def test_a_pod_that_is_forgotten_is_not_told_of(spreading):
    spreading.group("a", pod(WEB))
    spreading.group("b", pod(WEB))
    spreading.forget_pod("a")
    spreading.forget_pod("unknown")
    assert spreading.take_services([service("s", app="web")]) == {"b": "default/Service/app=web"}
    spreading.forget_pod("b")
    assert spreading.take_services([Change("s", None)]) == {}


def test_a_pod_whose_labels_change_counts_with_the_new_ones(spreading):
    spreading.take_services([service("s", app="web")])
    spreading.group("a", pod(WEB))
    assert spreading.group("a", pod({"app": "db"})) == ""
    assert spreading.take_services([service("s", app="db")]) == {"a": "default/Service/app=db"}


@pytest.mark.parametrize("state", ["own", "going", "disabled"])
def test_who_states_its_own_or_is_going_gets_none_and_counts_for_nobody(state):
    spreading = Spreading(enabled=state != "disabled")
    given = pod(WEB, owner={"kind": "ReplicaSet", "name": "web"})
    loose = pod(WEB)
    if state == "own":
        own = (TopologySpreadConstraint(topology_key="zone", max_skew=1),)
        given, loose = (
            replace(each, spec=replace(each.spec, topology_spread_constraints=own)) for each in (given, loose)
        )
    if state == "going":
        given, loose = (
            replace(each, metadata=replace(each.metadata, deletion_timestamp="2026-01-01T00:00:00Z"))
            for each in (given, loose)
        )
    assert spreading.group("a", given) == ""
    assert spreading.group("b", loose) == ""
    assert spreading.take_services([service("s", app="web")]) == {}
