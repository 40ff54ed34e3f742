"""What models see of pods of applications, and bandwidth annotations as requests."""

from __future__ import annotations

import pytest

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pods import Container, Pod, PodSpec, ResourceRequirements
from poseidon.pods.classes import ClassTable
from poseidon.pods.requests_and_limits import BANDWIDTH, add_annotated_bandwidth
from tests.support.needs import visible
from tests.support.task_classes import class_content

INGRESS, EGRESS = "kubernetes.io/ingress-bandwidth", "kubernetes.io/egress-bandwidth"
LABELS = {"appgroup.diktyo.x-k8s.io": "shop", "appgroup.diktyo.x-k8s.io.workload": "front", "app": "x"}
APPLICATIONS = visible("cpu_mem", "network_overhead")


def pod(labels=None, annotations=None, requests=None, limits=None):
    resources = ResourceRequirements(requests=requests or {}, limits=limits or {})
    return Pod(
        metadata=ObjectMeta(
            name="p", namespace="default", labels=labels or {}, annotations=annotations or {}
        ),
        spec=PodSpec(containers=(Container(name="main", resources=resources),)),
    )


def test_labels_of_applications_reach_the_overlay_only():
    given = pod(LABELS)
    shown, _ = class_content(given, APPLICATIONS)
    assert dict(shown.labels) == {key: LABELS[key] for key in LABELS if key != "app"}
    assert not class_content(given, visible("cpu_mem"))[0].labels


def test_workloads_are_classes_of_their_own():
    table = ClassTable(APPLICATIONS)
    front, back = (pod({**LABELS, "appgroup.diktyo.x-k8s.io.workload": name}) for name in ("front", "back"))
    assert table.intern(front) != table.intern(back)
    assert table.intern(front) == table.intern(pod({**LABELS, "app": "y"}))


@pytest.mark.parametrize(
    ("requests", "limits", "quality"),
    [
        ({}, {}, "BestEffort"),
        ({"cpu": "1"}, {}, "Burstable"),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}, "Guaranteed"),
    ],
)
def test_the_quality_of_service_reaches_the_overlay_only(requests, limits, quality):
    given = pod(LABELS, requests=requests, limits=limits)
    assert class_content(given, APPLICATIONS)[0].qos == quality
    assert class_content(given, visible("cpu_mem"))[0].qos == ""


@pytest.mark.parametrize(
    ("requested", "annotations", "expected"),
    [
        (0, {}, 0),
        (0, {INGRESS: "10M"}, 10_000_000),
        (0, {INGRESS: "10M", EGRESS: "1Gi"}, 2**30),
        (20_000_000, {EGRESS: "10M"}, 20_000_000),
        (0, {INGRESS: "much", EGRESS: "1k"}, 1000),
        (0, {INGRESS: "-5M"}, 0),
    ],
)
def test_the_larger_of_request_and_annotations(requested, annotations, expected):
    given = {"cpu": 100} | ({BANDWIDTH: requested} if requested else {})
    found = add_annotated_bandwidth(given, annotations)
    assert found.get(BANDWIDTH, 0) == expected
    assert found["cpu"] == 100


def test_annotations_are_requests_where_configured():
    given = pod(annotations={INGRESS: "10M"})
    counted, _ = class_content(given, visible("cpu_mem", bandwidth=True))
    assert {each.resource: each.amount for each in counted.requests} == {BANDWIDTH: 10_000_000}
    assert not class_content(given, visible("cpu_mem"))[0].requests
    table = ClassTable(visible("cpu_mem", bandwidth=True))
    assert table.intern(given) != table.intern(pod(annotations={INGRESS: "20M"}))
