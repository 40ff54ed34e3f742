"""Rules of pods, nodes, claims and volumes as the simulated cluster has them, by figures of Kubernetes' documents."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.testbed.controllers.node_rules import (
    amount,
    claim_names,
    holds,
    is_bound,
    is_fit,
    is_for,
    is_reached,
    parse_quantity,
    selects,
    size,
    suits,
    sum_requests,
)

Object = dict[str, Any]


@pytest.mark.parametrize(
    ("operator", "values", "label", "held"),
    [
        ("In", ["a", "b"], "b", True),
        ("In", ["a"], "c", False),
        ("In", ["a"], None, False),
        ("NotIn", ["a"], "a", False),
        ("NotIn", ["a"], "c", True),
        ("NotIn", ["a"], None, True),
        ("Exists", None, "", True),
        ("Exists", None, None, False),
        ("DoesNotExist", None, None, True),
        ("DoesNotExist", None, "", False),
        ("Gt", ["5"], "6", True),
        ("Gt", ["5"], "5", False),
        ("Lt", ["5"], "4", True),
        ("Lt", ["5"], "5", False),
        ("Gt", ["x"], "6", False),
        ("Gt", [], "6", False),
        ("Lt", ["5"], None, False),
        ("Near", ["a"], "a", False),
    ],
)
def test_requirements_of_labels(operator, values, label, held):
    requirement = {"key": "k", "operator": operator, **({} if values is None else {"values": values})}
    labels = {} if label is None else {"k": label}
    assert holds(requirement, labels) is held
    assert selects({"matchExpressions": [requirement]}, labels) is held


def test_an_absent_selector_selects_nothing_and_an_empty_one_everything():
    assert not selects(None, {"a": "1"})
    assert selects({}, {})
    assert selects({"matchLabels": {"a": "1"}}, {"a": "1", "b": "2"})
    assert not selects({"matchLabels": {"a": "1", "b": "1"}}, {"a": "1"})


NODE: Object = {"metadata": {"name": "n1", "labels": {"disk": "ssd"}}}


def affinity(*terms: Object) -> Object:
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": rule}}


SSD = {"key": "disk", "operator": "In", "values": ["ssd"]}
HDD = {"key": "disk", "operator": "In", "values": ["hdd"]}
OWN = {"key": "metadata.name", "operator": "In", "values": ["n1"]}


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        ({}, True),
        ({"nodeSelector": {"disk": "ssd"}}, True),
        ({"nodeSelector": {"disk": "hdd"}}, False),
        ({"nodeSelector": {"disk": "hdd"}, **affinity({"matchExpressions": [SSD]})}, False),
        (affinity({"matchExpressions": [HDD]}, {"matchExpressions": [SSD]}), True),
        (affinity({"matchExpressions": [SSD, HDD]}), False),
        (affinity({"matchFields": [OWN]}), True),
        (affinity({"matchExpressions": [HDD], "matchFields": [OWN]}), False),
        (affinity({}), False),
        (affinity(), False),
    ],
)
def test_a_node_suits_a_pod(spec, fits):
    assert suits(spec, NODE) is fits


def test_a_volume_is_reached_from_the_nodes_of_its_affinity():
    assert is_reached({"spec": {}}, NODE)
    for rule, reached in ((SSD, True), (HDD, False)):
        required = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
        assert is_reached({"spec": {"nodeAffinity": {"required": required}}}, NODE) is reached


def test_claims_of_a_pod_by_name():
    volumes = [
        {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "e", "ephemeral": {"volumeClaimTemplate": {}}},
        {"name": "t", "emptyDir": {}},
    ]
    assert claim_names({"metadata": {"name": "web"}, "spec": {"volumes": volumes}}) == ["data", "web-e"]
    assert claim_names({"metadata": {"name": "web"}, "spec": {}}) == []


def test_a_claim_is_bound_once_the_controller_says_so():
    done = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    assert is_bound({"metadata": done, "spec": {"volumeName": "v"}})
    assert not is_bound({"metadata": {}, "spec": {"volumeName": "v"}})
    assert not is_bound({"metadata": done, "spec": {}})


@pytest.mark.parametrize(
    ("given", "reserved"),
    [
        ({"name": "c", "namespace": "shop", "uid": "1"}, True),
        ({"name": "c", "namespace": "shop"}, True),
        ({"name": "c", "namespace": "shop", "uid": "2"}, False),
        ({"name": "c", "namespace": "app"}, False),
        ({"name": "c"}, False),
        ({"name": "d", "namespace": "shop"}, False),
        (None, False),
    ],
)
def test_a_volume_is_for_the_claim_that_it_names(given, reserved):
    claim = {"metadata": {"name": "c", "namespace": "shop", "uid": "1"}}
    assert is_for({"spec": {"claimRef": given}}, claim) is reserved


VOLUME: Object = {
    "metadata": {"labels": {"tier": "gold"}},
    "spec": {
        "capacity": {"storage": "2Gi"},
        "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
        "storageClassName": "fast",
    },
}
ASKED: Object = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "2Gi"}},
    "storageClassName": "fast",
}


@pytest.mark.parametrize(
    ("offered", "asked", "fits"),
    [
        ({}, {}, True),
        ({"claimRef": {"name": "x"}}, {}, False),
        ({"storageClassName": "slow"}, {}, False),
        ({"volumeAttributesClassName": "a"}, {}, False),
        ({"volumeAttributesClassName": "a"}, {"volumeAttributesClassName": "a"}, True),
        ({}, {"accessModes": ["ReadWriteOnce", "ReadWriteMany"]}, False),
        ({"volumeMode": "Block"}, {}, False),
        ({"volumeMode": "Block"}, {"volumeMode": "Block"}, True),
        ({}, {"resources": {"requests": {"storage": "2147483649"}}}, False),
        ({}, {"resources": {}}, True),
        ({}, {"selector": {"matchLabels": {"tier": "gold"}}}, True),
        ({}, {"selector": {"matchLabels": {"tier": "tin"}}}, False),
    ],
)
def test_a_volume_fits_a_claim(offered, asked, fits):
    volume = {**VOLUME, "spec": {**VOLUME["spec"], **offered}}
    assert is_fit(volume, {"spec": {**ASKED, **asked}}) is fits
    assert size(volume) == 2 * 2**30


@pytest.mark.parametrize(
    ("text", "cpu", "other"),
    [
        ("1", 1000, 1),
        ("1500m", 1500, 2),
        ("0.1", 100, 1),
        (".5", 500, 1),
        ("2k", 2_000_000, 2000),
        ("1Ki", 1_024_000, 1024),
        ("1e3", 1_000_000, 1000),
        ("1E-3", 1, 1),
        ("1E", 10**21, 10**18),
        ("100n", 1, 1),
        ("1u", 1, 1),
        ("1Ei", 2**60 * 1000, 2**60),
        ("lots", 0, 0),
        ("1Zi", 0, 0),
        ("", 0, 0),
    ],
)
def test_amounts_are_rounded_up_to_the_unit_of_their_resource(text, cpu, other):
    assert (amount("cpu", text), amount("memory", text)) == (cpu, other)
    assert (parse_quantity(text) is None) is (other == 0)


def container(cpu: str, **more: Any) -> Object:
    return {"resources": {"requests": {"cpu": cpu}}, **more}


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [container("1"), container("2")]}, 3000),
        ({"containers": [container("1")], "initContainers": [container("5"), container("4")]}, 5000),
        ({"containers": [container("1")], "initContainers": [container("2", **SIDECAR)]}, 3000),
        (
            {"containers": [container("1")], "initContainers": [container("2", **SIDECAR), container("3")]},
            5000,
        ),
        (
            {"containers": [container("4")], "initContainers": [container("3"), container("2", **SIDECAR)]},
            6000,
        ),
        ({"containers": [container("1")], "overhead": {"cpu": "250m"}}, 1250),
        ({"containers": [container("1")], "resources": {"requests": {"cpu": "7"}}}, 7000),
        ({"containers": [{}]}, None),
    ],
)
def test_requests_of_a_pod_are_what_it_needs_at_most_at_a_time(spec, cpu):
    assert sum_requests(spec) == {"pods": 1, **({} if cpu is None else {"cpu": cpu})}
