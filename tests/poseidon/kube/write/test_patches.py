"""What each write comes to: its path, its body, and what becomes of an earlier one that was not made."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from poseidon.kube.api.metadata import Condition, PodRef
from poseidon.kube.api.pod_groups import PodGroupStatus
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.media_types import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from poseidon.kube.write.evictor import is_budget_refusal
from poseidon.kube.write.patch_writer import (
    ConfigMapWrite,
    GroupConditionWrite,
    GroupStatusWrite,
    LabelWrite,
    NominatedNodeWrite,
    Patch,
    QueueStatusWrite,
    merge_writes,
)
from poseidon.kube.write.volume_claim_writer import GiveVolume, SelectNode, patch_of
from poseidon.kube.write.write_retries import RetryOptions, WriteBehindOptions, outrun

POD = PodRef("u", "ns", "p")
MAP = ConfigMapWrite("u", "ns", "m", {"a": "1"}, {})
CONDITION = Condition(type="PodGroupScheduled", status="True")


@pytest.mark.parametrize(
    ("write", "patch"),
    [
        (
            NominatedNodeWrite(POD, "n1"),
            Patch(
                "/api/v1/namespaces/ns/pods/p/status",
                {"metadata": {"uid": "u"}, "status": {"nominatedNodeName": "n1"}},
            ),
        ),
        (
            NominatedNodeWrite(POD, ""),
            Patch(
                "/api/v1/namespaces/ns/pods/p/status",
                {"metadata": {"uid": "u"}, "status": {"nominatedNodeName": None}},
            ),
        ),
        (
            LabelWrite(POD, {"a": None}),
            Patch("/api/v1/namespaces/ns/pods/p", {"metadata": {"uid": "u", "labels": {"a": None}}}),
        ),
        (MAP, Patch("/api/v1/namespaces/ns/configmaps/m", {"metadata": {"uid": "u"}, "data": {"a": "1"}})),
        (
            MAP._replace(annotations={"x": "y"}),
            Patch(
                "/api/v1/namespaces/ns/configmaps/m",
                {"metadata": {"uid": "u", "annotations": {"x": "y"}}, "data": {"a": "1"}},
            ),
        ),
        (
            GroupStatusWrite("u", "ns", "g", PodGroupStatus(phase="Running", running=2)),
            Patch(
                "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ns/podgroups/g/status",
                {
                    "metadata": {"uid": "u"},
                    "status": {"phase": "Running", "scheduled": 0, "running": 2, "succeeded": 0, "failed": 0},
                },
            ),
        ),
        (
            QueueStatusWrite("u", "/apis/q/v1/queues", "ns", "q", {"a": 1}),
            Patch("/apis/q/v1/namespaces/ns/queues/q/status", {"metadata": {"uid": "u"}, "status": {"a": 1}}),
        ),
        (
            QueueStatusWrite("u", "/apis/q/v1/queues", "", "q", {}),
            Patch("/apis/q/v1/queues/q/status", {"metadata": {"uid": "u"}, "status": {}}),
        ),
    ],
)
def test_a_patch_names_the_uid_of_its_object(write, patch):
    assert write.patch() == patch
    assert patch.format == MERGE_PATCH


@pytest.mark.parametrize(
    ("composite", "served", "path"),
    [
        (False, "/apis/s/v9/podgroups", "/apis/s/v9/namespaces/ns/podgroups/g/status"),
        (True, "/apis/s/v9/podgroups", "/compositepodgroups/g/status"),
    ],
)
def test_a_condition_of_a_group_is_written_where_the_group_is_served(composite, served, path):
    patch = GroupConditionWrite("u", "ns", "g", CONDITION, composite).build_patch(served)
    assert patch.path.endswith(path)
    assert patch.format == STRATEGIC_MERGE_PATCH
    [condition] = patch.body["status"]["conditions"]
    assert condition == {"type": "PodGroupScheduled", "status": "True", "reason": "", "message": ""}
    assert patch.body["metadata"] == {"uid": "u"}


def test_writes_about_one_object_that_add_up_are_merged_and_others_replaced():
    later = MAP._replace(data={"a": "2", "b": None}, annotations={"x": "1"})
    assert merge_writes(
        later, MAP._replace(data={"a": "1", "c": "3"}, annotations={"y": "2"})
    ) == MAP._replace(data={"a": "2", "b": None, "c": "3"}, annotations={"x": "1", "y": "2"})
    assert merge_writes(LabelWrite(POD, {"a": "1"}), LabelWrite(POD, {"a": "0", "b": "2"})) == LabelWrite(
        POD, {"a": "1", "b": "2"}
    )
    assert merge_writes(NominatedNodeWrite(POD, "n2"), NominatedNodeWrite(POD, "n1")) == NominatedNodeWrite(
        POD, "n2"
    )
    assert merge_writes(LabelWrite(POD, {"a": "1"}), MAP) == LabelWrite(POD, {"a": "1"})


def decoded(write: Any) -> tuple[str, Any]:
    path, body = patch_of(write)
    return path, msgspec.json.decode(body)


def test_a_node_is_selected_on_the_claim_and_a_claim_written_into_the_volume():
    assert decoded(SelectNode("p", "ns", "c", "cu", "n1")) == (
        "/api/v1/namespaces/ns/persistentvolumeclaims/c",
        {"metadata": {"uid": "cu", "annotations": {"volume.kubernetes.io/selected-node": "n1"}}},
    )
    assert decoded(GiveVolume("p", "ns", "c", "cu", "v", "vu", "7")) == (
        "/api/v1/persistentvolumes/v",
        {
            "metadata": {
                "uid": "vu",
                "resourceVersion": "7",
                "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
            },
            "spec": {
                "claimRef": {
                    "kind": "PersistentVolumeClaim",
                    "apiVersion": "v1",
                    "namespace": "ns",
                    "name": "c",
                    "uid": "cu",
                }
            },
        },
    )


@pytest.mark.parametrize(
    ("error", "again", "budget"),
    [
        (ApiError(409, "Conflict", "modified"), True, False),
        (ApiError(409, "AlreadyExists", "exists"), None, False),
        (ApiError(409, "Conflict", "the UID in the precondition differs"), None, False),
        (ApiError(429, "TooManyRequests", "violates the pod's disruption budget."), None, True),
        (ApiError(429, "TooManyRequests", "busy"), None, False),
        (ApiError(403, "Forbidden", "disruption budget"), None, False),
        (ApiError(500, "", "down"), None, False),
    ],
)
def test_refusals_are_told_apart(error, again, budget):
    assert outrun(error) is again
    assert is_budget_refusal(error) is budget


def test_writes_are_tried_a_few_times_with_growing_pauses():
    assert RetryOptions() == RetryOptions(5, 30.0, 0.1, 5.0)
    found = WriteBehindOptions()
    assert (found.workers, found.late, found.bound, found.patience) == (128, None, 200_000, 20.0)
    assert (found.attempts, found.backoff_initial, found.backoff_cap) == (5, 0.2, 5.0)
