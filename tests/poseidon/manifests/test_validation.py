"""Every defect is one line that names file, object, field, fault and remedy; all are collected."""

from __future__ import annotations

import copy

import pytest
import yaml

from poseidon.manifests.loader import ManifestError, load_manifests
from tests.poseidon.manifests.objects import node, pod, workload


@pytest.fixture
def faults(tmp_path):
    """Return the defects of objects written to one file, without the file's name."""

    def lines(*objects):
        file = tmp_path / "input.yaml"
        file.write_text(yaml.safe_dump_all(objects))
        with pytest.raises(ManifestError) as caught:
            load_manifests([str(file)])
        assert all(line.startswith(str(file)) and "\n" not in line for line in caught.value.lines)
        return [line.removeprefix(str(file)).removeprefix(": ") for line in caught.value.lines]

    return lines


def changed(value, *path, to):
    """Return a copy with one field replaced."""
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return value


CONTAINER = ("spec", "containers", 0)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (
            changed(node("n1"), "status", to={}),
            "Node n1: status.allocatable: missing, so nothing fits on the node; give cpu, memory and pods",
        ),
        (
            changed(node("n1"), "status", "allocatable", "cpu", to="-4"),
            "Node n1: status.allocatable.cpu: '-4' is negative; give an amount of 0 or more",
        ),
        (
            changed(node("n1"), "status", "allocatable", "memory", to="8Tb"),
            (
                "Node n1: status.allocatable.memory: '8Tb' is not a quantity; "
                "write a number with an optional unit, such as 2, 500m or 2Gi"
            ),
        ),
        (
            node("n1", taints=[{"key": "k", "effect": "Never"}]),
            "Node n1: spec.taints[0].effect: unknown effect 'Never'; use NoSchedule, PreferNoSchedule or NoExecute",
        ),
        (
            changed(node("n1"), "metadata", to={}),
            "Node (no name): metadata.name: missing; give the object a name",
        ),
        (
            node("No_Name"),
            "Node No_Name: metadata.name: 'No_Name' is not a valid name; use lower-case letters, digits, '-' and '.'",
        ),
        (
            pod("p", containers=[]),
            "Pod shop/p: spec.containers: empty; a pod needs at least one container",
        ),
        (
            changed(pod("p"), *CONTAINER, to={"resources": {"requests": {"memory": "1e"}}}),
            (
                "Pod shop/p: spec.containers[0].resources.requests.memory: '1e' is not a quantity; "
                "write a number with an optional unit, such as 2, 500m or 2Gi"
            ),
        ),
        (
            pod("p", priority=2**40),
            f"Pod shop/p: spec.priority: {2**40} is out of range; priorities have 32 bits",
        ),
        (
            pod("p", tolerations=[{"key": "k", "operator": "Likes"}]),
            "Pod shop/p: spec.tolerations[0].operator: unknown operator 'Likes'; use Equal, Exists, Gt or Lt",
        ),
        (
            pod("p", nodeSelector={"ssd": True}),
            "Pod shop/p: spec.nodeSelector[*]: expected a string, got true or false; correct it",
        ),
        (
            changed(pod("p"), "metadata", "creationTimestamp", to="last week"),
            (
                "Pod shop/p: metadata.creationTimestamp: 'last week' is not an RFC 3339 time; "
                "write one such as 2026-01-31T12:00:00Z"
            ),
        ),
        (
            workload("Deployment", "web", template={"containers": []}),
            "Deployment shop/web: spec.template.spec.containers: empty; a pod needs at least one container",
        ),
        (
            changed(workload("DaemonSet", "web"), "spec", to={}),
            "DaemonSet shop/web: spec.template: missing; describe the pods",
        ),
        (
            workload("ReplicationController", "web", template={"containers": []}),
            "ReplicationController shop/web: spec.template.spec.containers: empty; a pod needs at least one container",
        ),
        (
            changed(workload("CronJob", "tick"), "spec", to={"schedule": "@daily"}),
            "CronJob shop/tick: spec.jobTemplate: missing; describe the Job",
        ),
        (
            changed(workload("CronJob", "tick"), "spec", to={"jobTemplate": {"spec": {}}}),
            "CronJob shop/tick: spec.jobTemplate.spec.template: missing; describe the pods",
        ),
        (
            workload("Deployment", "web", replicas=-1),
            "Deployment shop/web: spec.replicas: -1 is negative; give 0 or more",
        ),
        (
            workload("Job", "web", parallelism=10**9),
            "Job shop/web: spec.parallelism: 1000000000 is absurdly large; at most 1000000 are accepted",
        ),
        (
            workload("StatefulSet", "web", replicas="three"),
            "StatefulSet shop/web: spec.replicas: expected an integer, got a string; correct it",
        ),
        (
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "top"},
                "value": 2**31,
            },
            f"PriorityClass top: value: {2**31} is out of range; priorities have 32 bits",
        ),
    ],
)
def test_one_line_per_defect(faults, value, line):
    assert faults(value) == [line]


def test_all_defects_are_collected(faults):
    lines = faults(
        node("n1"), pod("a", containers=[]), changed(node("n2"), "status", to={}), pod("b", priority="x")
    )
    assert [line.split(": ")[1] for line in lines] == ["Pod shop/a", "Node n2", "Pod shop/b"]
    assert all("(document " in line for line in lines)


def test_the_same_object_twice_is_kept_once(load):
    assert len(load(node("n1"), node("n1"), pod("p"), pod("p")).nodes) == 1


def test_two_different_objects_of_one_name_can_be_made_a_defect(tmp_path):
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text(yaml.safe_dump(node("n1")))
    second.write_text(yaml.safe_dump(node("n1", labels={"zone": "b"})))
    with pytest.raises(ManifestError) as caught:
        load_manifests([str(first), str(second)], strict=True)
    assert caught.value.lines == (
        f"{second}: Node n1: given differently in {first} as well; remove one of the two",
    )


def test_the_same_name_in_another_namespace_or_kind_is_fine(load):
    other = pod("p")
    other["metadata"]["namespace"] = "default"
    assert len(load(pod("p"), other, workload("Deployment", "p", replicas=0)).pods) == 2


def test_other_kinds_are_ignored_whatever_they_hold(load):
    foreign = {"apiVersion": "example.com/v1", "kind": "Node", "metadata": {"name": 5}}
    endpoints = {"apiVersion": "v1", "kind": "Endpoints", "spec": []}
    loaded = load(foreign, endpoints)
    assert (loaded.nodes, loaded.pods, loaded.warnings) == ((), (), ())


def test_an_object_that_contains_itself_is_no_crash(tmp_path):
    file = tmp_path / "loop.yaml"
    file.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: &a {x: *a}\n")
    with pytest.raises(ManifestError, match=r"Pod default/p: nested too deeply"):
        load_manifests([str(file)])


def test_a_node_without_pods_is_worth_a_warning(load):
    given = node("n1")
    del given["status"]["allocatable"]["pods"]
    (warning,) = load(given).warnings
    assert "Node n1: status.allocatable.pods: missing" in warning


def test_a_missing_priority_class_is_worth_one_warning(load):
    loaded = load(pod("a", priorityClassName="high"), pod("b", priorityClassName="high"))
    assert loaded.warnings == (
        (
            "Pod shop/a and 1 more: spec.priorityClassName: PriorityClass 'high' is not in the input, "
            "so its pods wait; add what `kubectl get priorityclasses -o yaml` prints"
        ),
    )


def test_nulls_are_as_good_as_absent(load):
    given = pod("p", nodeSelector=None, tolerations=None)
    given["metadata"]["labels"] = None
    (found,) = load(given).pods
    assert (found.metadata.labels, found.spec.tolerations) == ({}, ())
