"""Defines coordination.k8s.io/v1 Lease, by which processes agree on their leader."""

from __future__ import annotations

from poseidon.kube.api.metadata import KubeStruct, ObjectMeta


class LeaseSpec(KubeStruct, frozen=True):
    """Spec of a Lease. ``holder_identity`` is "" if no process holds it; times are RFC 3339 with microseconds."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: str = ""
    renew_time: str = ""
    lease_transitions: int = 0


class Lease(KubeStruct, frozen=True):
    """coordination.k8s.io/v1 Lease."""

    metadata: ObjectMeta
    spec: LeaseSpec = LeaseSpec()
