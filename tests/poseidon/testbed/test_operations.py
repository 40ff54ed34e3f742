from __future__ import annotations

import pytest

from poseidon.testbed.api_server.operations import (
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Operations,
)
from poseidon.testbed.objects.errors import ApiError
from poseidon.testbed.objects.resources import NAMESPACES, NODES, PODS, PRIORITY_CLASSES
from poseidon.testbed.objects.selectors import Selection, select
from poseidon.testbed.objects.store import Preconditions, decode
from tests.poseidon.testbed.conftest import new_operations
from tests.support.cluster import pod


def refused(code: int, reason: str):
    return pytest.raises(ApiError, check=lambda error: (error.code, error.reason) == (code, reason))


def test_a_new_object_gets_what_the_server_assigns(operations: Operations) -> None:
    before = operations.store.revision
    record = operations.create(PODS, "default", pod("a"))
    obj = decode(record)
    assert record.revision == before + 1
    assert obj["metadata"]["resourceVersion"] == str(record.revision)
    assert obj["metadata"]["creationTimestamp"] == "2026-01-01T12:00:00Z"
    assert obj["metadata"]["generation"] == 1
    assert len(obj["metadata"]["uid"]) == 36
    assert obj["status"] == {"phase": "Pending", "qosClass": "Burstable"}
    assert list(obj)[:2] == ["kind", "apiVersion"]


def test_a_seed_repeats_uids() -> None:
    first, second = new_operations(), new_operations()
    assert first.create(PODS, "default", pod("a")).uid == second.create(PODS, "default", pod("a")).uid


def test_system_objects_exist_from_the_start(operations: Operations) -> None:
    for name in ("default", "kube-system", "kube-node-lease"):
        assert decode(operations.get(NAMESPACES, "", name))["status"] == {"phase": "Active"}
    assert decode(operations.get(PRIORITY_CLASSES, "", "system-node-critical"))["value"] == 2_000_001_000


def test_names_are_generated_in_a_fixed_order_and_never_twice(operations: Operations) -> None:
    template = pod("ignored")
    names = []
    for _ in range(50):
        body = {**template, "metadata": {"generateName": "job-"}}
        names.append(operations.create(PODS, "default", body).name)
    assert len(set(names)) == 50
    assert all(name.startswith("job-") and len(name) == 9 for name in names)
    again = new_operations()
    assert again.create(PODS, "default", {**template, "metadata": {"generateName": "job-"}}).name == names[0]


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        ({"metadata": {}}, 422, "metadata.name: Required value"),
        ({"metadata": {"name": "Bad_Name"}}, 422, 'Invalid value: "Bad_Name"'),
        ({"metadata": {"name": "a"}}, 422, "spec.containers: Required value"),
        ({"metadata": {"name": "a"}, "spec": {"containers": "x"}}, 400, "spec"),
        ({"metadata": {"name": "a", "labels": {"x": 1}}}, 400, "labels"),
        ({"metadata": {"name": "a", "namespace": "other"}}, 400, "does not match the namespace"),
        ({"kind": "Node", "metadata": {"name": "a"}}, 400, "must be of type Pod"),
        ([], 400, "cannot be handled as a Pod"),
    ],
)
def test_bad_pods_are_refused_with_the_field(operations: Operations, body, code: int, text: str) -> None:
    before = operations.store.revision
    with pytest.raises(ApiError) as caught:
        operations.create(PODS, "default", body)
    assert caught.value.code == code
    assert text in caught.value.message
    assert operations.store.revision == before


def test_a_missing_namespace_is_not_found(operations: Operations) -> None:
    with pytest.raises(ApiError, match='namespaces "nowhere" not found'):
        operations.create(PODS, "nowhere", pod("a", namespace="nowhere"))


def test_a_name_is_taken_once(operations: Operations) -> None:
    operations.create(PODS, "default", pod("a"))
    with pytest.raises(ApiError, match='pods "a" already exists'):
        operations.create(PODS, "default", pod("a"))


def test_limits_become_requests_and_classes_become_priorities(operations: Operations) -> None:
    operations.create(PRIORITY_CLASSES, "", {"metadata": {"name": "high"}, "value": 7})
    body = pod("a", priorityClassName="high")
    body["spec"]["containers"][0]["resources"] = {
        "limits": {"cpu": "1", "memory": "1Gi"},
        "requests": {"cpu": "500m"},
    }
    spec = decode(operations.create(PODS, "default", body))["spec"]
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}
    assert spec["priority"] == 7
    with refused(403, "Forbidden"):
        operations.create(PODS, "default", pod("b", priorityClassName="unknown"))


def test_the_global_default_class_applies_to_pods_without_one(operations: Operations) -> None:
    operations.create(
        PRIORITY_CLASSES, "", {"metadata": {"name": "usual"}, "value": 3, "globalDefault": True}
    )
    spec = decode(operations.create(PODS, "default", pod("a")))["spec"]
    assert (spec["priority"], spec["priorityClassName"]) == (3, "usual")


def test_a_stale_update_is_a_conflict(operations: Operations) -> None:
    stale = decode(operations.create(NODES, "", {"metadata": {"name": "n"}}))
    operations.patch(NODES, "", "n", MERGE_PATCH, {"spec": {"unschedulable": True}})
    with pytest.raises(ApiError, match="the object has been modified") as caught:
        operations.update(NODES, "", "n", stale)
    assert caught.value.code == 409
    del stale["metadata"]["resourceVersion"]
    assert operations.update(NODES, "", "n", stale).revision == operations.store.revision


def test_writing_what_is_there_changes_nothing(operations: Operations) -> None:
    record = operations.create(NODES, "", {"metadata": {"name": "n"}})
    assert operations.update(NODES, "", "n", decode(record)) is record
    assert operations.patch(NODES, "", "n", MERGE_PATCH, {"spec": {}}) is record


def test_status_and_the_rest_are_written_apart(operations: Operations) -> None:
    operations.create(PODS, "default", pod("a"))
    patch = {"status": {"phase": "Running"}, "metadata": {"labels": {"x": "y"}}}
    main = decode(operations.patch(PODS, "default", "a", STRATEGIC_MERGE_PATCH, patch))
    assert main["status"]["phase"] == "Pending"
    assert main["metadata"]["labels"] == {"x": "y"}
    patch = {"status": {"phase": "Running"}, "metadata": {"labels": {"x": "z"}}, "spec": {"nodeName": "n"}}
    status = decode(operations.patch(PODS, "default", "a", STRATEGIC_MERGE_PATCH, patch, status=True))
    assert status["status"]["phase"] == "Running"
    assert status["metadata"]["labels"] == {"x": "y"}
    assert "nodeName" not in status["spec"]


def test_generation_counts_changes_of_the_spec_only(operations: Operations) -> None:
    operations.create(NODES, "", {"metadata": {"name": "n"}})
    labelled = operations.patch(NODES, "", "n", MERGE_PATCH, {"metadata": {"labels": {"a": "b"}}})
    assert decode(labelled)["metadata"]["generation"] == 1
    changed = operations.patch(NODES, "", "n", MERGE_PATCH, {"spec": {"unschedulable": True}})
    assert decode(changed)["metadata"]["generation"] == 2
    status = operations.patch(NODES, "", "n", MERGE_PATCH, {"status": {"x": 1}}, status=True)
    assert decode(status)["metadata"]["generation"] == 2


def test_a_pod_is_given_its_node_by_binding_only(operations: Operations) -> None:
    operations.create(PODS, "default", pod("a"))
    with refused(422, "Invalid"):
        operations.patch(PODS, "default", "a", MERGE_PATCH, {"spec": {"nodeName": "n"}})
    image = {"spec": {"containers": [{"name": "main", "image": "other"}]}}
    operations.patch(PODS, "default", "a", STRATEGIC_MERGE_PATCH, image)


def test_gates_may_be_removed_but_not_added(operations: Operations) -> None:
    operations.create(PODS, "default", pod("a", schedulingGates=[{"name": "g"}]))
    opened = operations.patch(PODS, "default", "a", MERGE_PATCH, {"spec": {"schedulingGates": None}})
    assert "schedulingGates" not in decode(opened)["spec"]
    with refused(422, "Invalid"):
        operations.patch(PODS, "default", "a", MERGE_PATCH, {"spec": {"schedulingGates": [{"name": "g"}]}})


def test_a_node_keeps_its_status_and_allocatable_defaults_to_capacity(operations: Operations) -> None:
    record = operations.create(NODES, "", {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4"}}})
    assert decode(record)["status"]["allocatable"] == {"cpu": "4"}


def test_deleting_returns_the_last_state_at_a_new_revision(operations: Operations) -> None:
    created = operations.create(PODS, "default", pod("a"))
    deleted = operations.delete(PODS, "default", "a")
    assert (deleted.uid, deleted.revision) == (created.uid, created.revision + 1)
    with refused(404, "NotFound"):
        operations.get(PODS, "default", "a")
    with refused(404, "NotFound"):
        operations.delete(PODS, "default", "a")


def test_preconditions_protect_a_successor_of_the_same_name(operations: Operations) -> None:
    first = operations.create(PODS, "default", pod("a"))
    operations.delete(PODS, "default", "a")
    operations.create(PODS, "default", pod("a"))
    with refused(409, "Conflict"):
        operations.delete(PODS, "default", "a", Preconditions(uid=first.uid))


def test_finalizers_hold_an_object_until_they_are_gone(operations: Operations) -> None:
    body = pod("a")
    body["metadata"]["finalizers"] = ["example.com/wait"]
    operations.create(PODS, "default", body)
    assert decode(operations.delete(PODS, "default", "a"))["metadata"]["deletionTimestamp"]
    assert operations.get(PODS, "default", "a")
    operations.patch(PODS, "default", "a", MERGE_PATCH, {"metadata": {"finalizers": None}})
    with refused(404, "NotFound"):
        operations.get(PODS, "default", "a")


def test_deleting_a_namespace_empties_it_and_nothing_else(operations: Operations) -> None:
    operations.create(NAMESPACES, "", {"metadata": {"name": "team"}})
    operations.create(PODS, "team", pod("a", namespace="team"))
    operations.create(PODS, "default", pod("a"))
    operations.delete(NAMESPACES, "", "team")
    with refused(404, "NotFound"):
        operations.get(PODS, "team", "a")
    assert operations.get(PODS, "default", "a")


def test_deletecollection_respects_selectors(operations: Operations) -> None:
    for name in ("a", "b"):
        body = pod(name)
        body["metadata"]["labels"] = {"app": name}
        operations.create(PODS, "default", body)
    known = operations.store.collection("pods").field_names
    deleted = operations.delete_collection(PODS, select("default", "app=a", "", known))
    assert [record.name for record in deleted] == ["a"]
    assert [r.name for r in operations.delete_collection(PODS, Selection())] == ["b"]


def test_a_dry_run_leaves_no_trace(operations: Operations) -> None:
    operations.create(PODS, "default", pod("a"))
    before = operations.store.revision
    operations.create(PODS, "default", pod("b"), dry_run=True)
    changed = operations.patch(
        PODS, "default", "a", MERGE_PATCH, {"metadata": {"labels": {"x": "y"}}}, dry_run=True
    )
    operations.delete(PODS, "default", "a", dry_run=True)
    assert changed.labels == {"x": "y"}
    assert operations.store.revision == before
    assert operations.get(PODS, "default", "a").labels == {}


def test_unknown_media_types_are_named(operations: Operations) -> None:
    operations.create(PODS, "default", pod("a"))
    with pytest.raises(ApiError, match="application/apply-patch") as caught:
        operations.patch(PODS, "default", "a", "application/apply-patch+yaml", {})
    assert caught.value.code == 415
    with refused(422, "Invalid"):
        operations.patch(PODS, "default", "a", MERGE_PATCH, {"metadata": None})
    with refused(422, "Invalid"):
        operations.patch(PODS, "default", "a", MERGE_PATCH, [])
