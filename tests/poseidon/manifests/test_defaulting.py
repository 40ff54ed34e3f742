"""Objects as an API server would hold them: names, versions, capacity, the latest of several states."""

from __future__ import annotations

import json

import pytest

from poseidon.manifests.loader import ManifestError, load_manifests
from tests.poseidon.manifests.objects import node, owner, pod, workload


def unnamed(value, prefix):
    metadata = {key: item for key, item in value["metadata"].items() if key != "name"}
    return {**value, "metadata": {**metadata, "generateName": prefix}}


def dumped(value, version, uid="u1"):
    return {**value, "metadata": {**value["metadata"], "uid": uid, "resourceVersion": version}}


def names(loaded):
    return [each.metadata.name for each in loaded.pods]


def test_objects_that_are_to_be_named_get_the_first_free_number(load):
    loaded = load(unnamed(pod("x"), "run-"), pod("run-0"), unnamed(pod("x"), "run-"))
    assert names(loaded) == ["run-1", "run-0", "run-2"]


def test_the_pods_of_workloads_that_are_to_be_named(load):
    loaded = load(unnamed(workload("Job", "x"), "pi-"), unnamed(workload("Job", "x"), "pi-"))
    assert names(loaded) == ["pi-0-0", "pi-1-0"]


def test_names_are_the_same_each_time(load):
    given = [unnamed(pod("x"), "a-"), unnamed(pod("x"), "b-"), unnamed(workload("Job", "x"), "a-")]
    assert names(load(*given)) == names(load(*given)) == ["a-0", "b-0", "a-0-0"]


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("extensions/v1beta1", "Deployment"),
        ("extensions/v1beta1", "ReplicaSet"),
        ("apps/v1beta1", "Deployment"),
        ("apps/v1beta1", "StatefulSet"),
        ("apps/v1beta2", "Deployment"),
        ("apps/v1beta2", "ReplicaSet"),
        ("apps/v1beta2", "StatefulSet"),
        ("v1", "ReplicationController"),
    ],
)
def test_workloads_of_all_times(load, version, kind):
    assert names(load({**workload(kind, "web", replicas=2), "apiVersion": version})) == ["web-0", "web-1"]


@pytest.mark.parametrize("version", ["extensions/v1beta1", "apps/v1beta2"])
def test_daemon_sets_of_all_times(load, version):
    assert names(load(node("n1"), {**workload("DaemonSet", "d"), "apiVersion": version})) == ["d-0"]


def test_one_workload_in_two_versions_is_one(load):
    given = workload("Deployment", "web")
    assert names(load(given, {**given, "apiVersion": "extensions/v1beta1"})) == ["web-0"]


def test_pods_of_a_replication_controller_are_not_created_again(load):
    given = workload("ReplicationController", "web", replicas=2)
    assert names(load(given, pod("web-x", owners=owner("ReplicationController", "web")))) == [
        "web-x",
        "web-0",
    ]


def test_a_node_that_states_its_capacity_alone_offers_all_of_it(load):
    given = node("n1")
    given["status"] = {"capacity": {"cpu": "4", "memory": "1E", "pods": 110}}
    (found,) = load(given).nodes
    assert found.status.allocatable == {"cpu": "4", "memory": "1E", "pods": 110}


def test_of_several_dumps_of_an_object_the_latest_counts(load):
    before, after = dumped(node("n1"), "9"), dumped(node("n1", unschedulable=True), "10")
    for given in ((before, after), (after, before)):
        (found,) = load(*given).nodes
        assert found.spec.unschedulable


@pytest.mark.parametrize("versions", [("x", "y"), (None, None), ("9" * 5000, "9" * 5000)])
def test_versions_that_are_none_are_no_crash(load, versions):
    first, second = (dumped(node("n1"), version) for version in versions)
    assert len(load(first, second).nodes) == 1


def test_another_object_of_the_same_name_takes_its_place_unless_that_is_refused(tmp_path):
    file = tmp_path / "input.json"
    first, second = dumped(node("n1"), "1", "a"), dumped(node("n1", unschedulable=True), "2", "b")
    file.write_text(json.dumps(first) + "\n" + json.dumps(second))
    (found,) = load_manifests([str(file)]).nodes
    assert found.spec.unschedulable
    with pytest.raises(ManifestError, match=r"Node n1: given differently"):
        load_manifests([str(file)], strict=True)


@pytest.mark.parametrize("metadata", [None, 5, [], {"generateName": 5}, {"uid": 5}, {"uid": ["a"]}])
def test_metadata_that_makes_no_sense_is_a_defect_and_no_crash(tmp_path, metadata):
    file = tmp_path / "input.json"
    file.write_text(json.dumps({**pod("p"), "metadata": metadata}))
    with pytest.raises(ManifestError, match="metadata"):
        load_manifests([str(file)])
