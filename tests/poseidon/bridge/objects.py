"""Short-hand for the Kubernetes objects of these tests."""

from __future__ import annotations

from poseidon.kube.api.metadata import Condition, ObjectMeta, OwnerReference
from poseidon.kube.api.nodes import Node, NodeSpec, NodeStatus
from poseidon.kube.api.pods import Container, Pod, PodSpec, PodStatus, ResourceRequirements, SchedulingGate
from poseidon.kube.api.resource import Change


def node(name, *, cpu="8", labels=None, uid=None, unschedulable=False):
    return Node(
        metadata=ObjectMeta(name=name, uid=uid or f"node-{name}", labels=labels or {}),
        spec=NodeSpec(unschedulable=unschedulable),
        status=NodeStatus(
            allocatable={"cpu": cpu, "memory": "16Gi", "pods": "110"},
            conditions=(Condition(type="Ready", status="True"),),
        ),
    )


def pod(
    name,
    *,
    uid=None,
    namespace="default",
    node="",
    scheduler="poseidon",
    cpu="100m",
    owner="",
    phase="Pending",
    deleting=False,
    gated=False,
    reason="",
    priority=0,
    restart_policy="",
    nominated="",
):
    conditions: tuple[Condition, ...] = ()
    if reason:
        conditions = (Condition(type="PodScheduled", status="False", reason="Unschedulable", message=reason),)
    owners: tuple[OwnerReference, ...] = ()
    if owner:
        owners = (OwnerReference(kind="ReplicaSet", name=owner, uid=f"uid-{owner}", controller=True),)
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=uid or f"pod-{name}",
            owner_references=owners,
            creation_timestamp="2026-01-01T00:00:00Z",
            deletion_timestamp="2026-01-01T00:01:00Z" if deleting else None,
        ),
        spec=PodSpec(
            node_name=node,
            scheduler_name=scheduler,
            priority=priority,
            restart_policy=restart_policy,
            containers=(Container(name="main", resources=ResourceRequirements(requests={"cpu": cpu})),),
            scheduling_gates=(SchedulingGate(name="wait"),) if gated else (),
        ),
        status=PodStatus(phase=phase, conditions=conditions, nominated_node_name=nominated),
    )


def present(item):
    return Change(item.metadata.uid, item)


def gone(item):
    return Change(item.metadata.uid, None)
