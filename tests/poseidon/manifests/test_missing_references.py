"""What pods refer to and the input lacks is named, with the command that prints it."""

from __future__ import annotations

import shlex

import pytest

from tests.poseidon.manifests.objects import node, pod


def claim(name, *, volume="", storage_class=None, annotations=None):
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "shop", "annotations": annotations or {}},
        "spec": {"volumeName": volume, "storageClassName": storage_class},
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def volume(name, driver="disk.example.com"):
    source = {"driver": driver, "volumeHandle": name}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {"capacity": {"storage": "1Gi"}, "csi": source},
    }


def storage_class(name):
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}


def csi_node(name):
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name}}


def namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def using(name, *claims):
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return pod(name, phase="Pending", volumes=volumes)


def near(name, selector):
    term = {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": selector}
    rules = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return pod(name, affinity=rules)


@pytest.mark.parametrize(
    ("objects", "start", "resources"),
    [
        (
            [using("a", "data"), using("b", "data", "logs")],
            "Pod shop/a and 1 more: PersistentVolumeClaim shop/data, shop/logs are not in the input, so its pods wait",
            "persistentvolumeclaims,persistentvolumes,storageclasses,csinodes,csidrivers,csistoragecapacities,volumeattachments",
        ),
        (
            [using("a", "data"), claim("data", volume="pv-1")],
            "PersistentVolumeClaim shop/data: PersistentVolume pv-1 is not in the input",
            "persistentvolumes,csinodes",
        ),
        (
            [using("a", "data"), claim("data", storage_class="fast")],
            "PersistentVolumeClaim shop/data: StorageClass fast is not in the input",
            "storageclasses",
        ),
        (
            [
                using("a", "data"),
                claim("data", annotations={"volume.beta.kubernetes.io/storage-class": "old"}),
            ],
            "PersistentVolumeClaim shop/data: StorageClass old is not in the input",
            "storageclasses",
        ),
        (
            [using("a", "data"), claim("data", volume="pv-1"), volume("pv-1")],
            "PersistentVolume pv-1: CSINode with the driver disk.example.com is not in the input",
            "csinodes",
        ),
        (
            [pod("a", priorityClassName="high")],
            "Pod shop/a: spec.priorityClassName: PriorityClass 'high' is not in the input",
            "priorityclasses",
        ),
        (
            [near("a", {"matchLabels": {"team": "x"}})],
            "Pod shop/a: Namespace shop is not in the input",
            "namespaces",
        ),
    ],
)
def test_each_kind_is_named_with_its_command(load, objects, start, resources):
    (line,) = load(node("n1"), *objects).warnings
    assert line.startswith(start)
    command = shlex.split(line.split("`")[1])
    assert command[:3] == ["kubectl", "get", resources]
    assert command[-2:] == ["-o", "yaml"]


@pytest.mark.parametrize(
    "objects",
    [
        [using("a", "data"), claim("data", volume="pv-1"), volume("pv-1"), csi_node("n1")],
        [using("a", "data"), claim("data", storage_class="fast"), storage_class("fast")],
        [using("a", "data"), claim("data", storage_class="")],
        [pod("a", priorityClassName="system-node-critical")],
        [near("a", {"matchLabels": {"team": "x"}}), namespace("shop")],
        [near("a", {}), near("b", None)],
        [pod("a", phase="Succeeded", priorityClassName="gone", volumes=[])],
    ],
)
def test_nothing_is_said_where_nothing_is_missing(load, objects):
    assert load(node("n1"), *objects).warnings == ()
