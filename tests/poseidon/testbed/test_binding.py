from __future__ import annotations

import json

import pytest

from poseidon.testbed.api_server.operations import MERGE_PATCH, Operations
from poseidon.testbed.objects.binding import bind, decode_binding
from poseidon.testbed.objects.errors import ApiError
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.objects.store import decode
from tests.support.cluster import binding, pod


def try_bind(operations: Operations, name: str, body) -> ApiError | dict:
    try:
        return decode(bind(operations.store, "default", name, decode_binding(json.dumps(body).encode())))
    except ApiError as error:
        return error


def test_a_binding_sets_node_and_condition(operations: Operations) -> None:
    operations.create(PODS, "default", pod("a"))
    body = binding("a", "n1")
    body["metadata"]["annotations"] = {"why": "cheap"}
    bound = try_bind(operations, "a", body)
    assert isinstance(bound, dict)
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["annotations"] == {"why": "cheap"}
    [condition] = bound["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    assert condition["lastTransitionTime"] == "2026-01-01T12:00:00Z"


def test_a_binding_replaces_the_condition_that_said_unschedulable(operations: Operations) -> None:
    operations.create(PODS, "default", pod("a"))
    unschedulable = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "no room",
    }
    status = {"status": {"conditions": [unschedulable, {"type": "Other", "status": "True"}]}}
    operations.patch(PODS, "default", "a", MERGE_PATCH, status, status=True)
    bound = try_bind(operations, "a", binding("a", "n1"))
    assert isinstance(bound, dict)
    conditions = {c["type"]: c for c in bound["status"]["conditions"]}
    assert set(conditions) == {"PodScheduled", "Other"}
    assert "reason" not in conditions["PodScheduled"]


def test_a_pod_is_bound_once(operations: Operations) -> None:
    operations.create(PODS, "default", pod("a"))
    try_bind(operations, "a", binding("a", "n1"))
    error = try_bind(operations, "a", binding("a", "n2"))
    assert isinstance(error, ApiError)
    assert (error.code, error.reason) == (409, "Conflict")
    assert 'pod a is already assigned to node "n1"' in error.message
    assert decode(operations.get(PODS, "default", "a"))["spec"]["nodeName"] == "n1"


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        (binding("a", "n1", uid="another"), 409, "Precondition failed: UID"),
        (binding("a", ""), 422, "target.name: Required value"),
        (binding("b", "n1"), 400, "does not match"),
        ({**binding("a", "n1"), "target": {"kind": "Pod", "name": "x"}}, 422, "target.kind"),
        ({**binding("a", "n1"), "target": "n1"}, 400, "target"),
        ({**binding("a", "n1"), "kind": "Pod"}, 400, "send a v1 Binding"),
    ],
)
def test_bad_bindings_are_refused_and_change_nothing(
    operations: Operations, body, code: int, text: str
) -> None:
    record = operations.create(PODS, "default", pod("a"))
    error = try_bind(operations, "a", body)
    assert isinstance(error, ApiError)
    assert error.code == code
    assert text in error.message
    assert operations.get(PODS, "default", "a") is record


def test_pods_that_cannot_be_bound(operations: Operations) -> None:
    missing = try_bind(operations, "a", binding("a", "n1"))
    assert isinstance(missing, ApiError)
    assert (missing.code, missing.message) == (404, 'pods "a" not found')
    operations.create(PODS, "default", pod("a", schedulingGates=[{"name": "g"}]))
    gated = try_bind(operations, "a", binding("a", "n1"))
    assert isinstance(gated, ApiError)
    assert gated.code == 409
    leaving = pod("b")
    leaving["metadata"]["finalizers"] = ["example.com/wait"]
    operations.create(PODS, "default", leaving)
    operations.delete(PODS, "default", "b")
    deleted = try_bind(operations, "b", binding("b", "n1"))
    assert isinstance(deleted, ApiError)
    assert "is being deleted" in deleted.message
