"""AppGroup objects: what is in force, what solvers are told, and what their status should say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poseidon.app_network.bandwidth import Demand
from poseidon.app_network.findings import ORDERED, Finding, conditions, validity
from poseidon.app_network.good_state import GoodStates, Kept
from poseidon.app_network.proposals import Notice, ObjectKey, Proposal, notices, propose
from poseidon.app_network.spec.app_groups import AppGroupSpec, Workload, read_app_group
from poseidon.app_network.spec.keys import APP_GROUP_KIND
from poseidon.app_network.spec.ordering import TopologyOrder, app_group_payload, topology_order
from poseidon.kube.api.app_network import AppGroup
from poseidon.kube.api.references import timestamp

if TYPE_CHECKING:
    from poseidon.app_network.good_state import ObjectName
    from poseidon.app_network.members import Members


class AppGroups(GoodStates[AppGroup, AppGroupSpec]):
    """All AppGroups."""

    def __init__(self) -> None:
        super().__init__(read_app_group)

    def payload(self, name: ObjectName) -> bytes | None:
        """Return the payload of an AppGroup's record, None if nothing is in force."""
        kept = self.get(name)
        if kept is None or kept.spec is None:
            return None
        return app_group_payload(kept.spec, topology_order(kept.spec))

    def demands(self, name: ObjectName) -> tuple[Demand, ...] | None:
        """Return what an AppGroup's workloads ask of links, None if nothing is in force."""
        kept = self.get(name)
        if kept is None or kept.spec is None:
            return None
        return tuple(
            Demand(each.selector, other.selector, other.min_bandwidth)
            for each in kept.spec.workloads
            for other in each.dependencies
            if other.min_bandwidth
        )

    def reconcile(
        self, name: ObjectName, members: Members, now: float
    ) -> tuple[Proposal, list[Notice]] | None:
        """Return what is left to write of an AppGroup and to tell people, None if it does not exist."""
        kept = self.get(name)
        if kept is None:
            return None
        key = ObjectKey(APP_GROUP_KIND, *name)
        order = topology_order(kept.spec) if kept.spec is not None else None
        findings = [validity(kept.defects, in_force=kept.spec is not None)]
        if order is not None:
            findings.append(_ordered(order))
        status = _status(kept, order, findings, members, timestamp(now))
        return propose(key, kept, status), notices(key, kept, findings)


def _ordered(order: TopologyOrder) -> Finding:
    if not order.problem:
        return Finding(ORDERED, True, "Sorted", f"the workloads are ordered by {order.algorithm}")
    reason = "DependencyCycle" if order.cyclic else "UnknownAlgorithm"
    return Finding(ORDERED, not order.cyclic, reason, order.problem, warns=True)


def _status(
    kept: Kept[AppGroup, AppGroupSpec],
    order: TopologyOrder | None,
    findings: list[Finding],
    members: Members,
    now: str,
) -> dict[str, Any]:
    former, name = kept.status, kept.object.metadata.name
    status: dict[str, Any] = {
        "runningWorkloads": members.running(name),
        "conditions": conditions(former.get("conditions"), findings, now),
    }
    if former.get("scheduleStartTime") or members.has_pods(name):
        status["scheduleStartTime"] = former.get("scheduleStartTime") or now
    if kept.spec is not None and order is not None:
        listed = _listed(kept.spec, order)
        same = former.get("topologyOrder") == listed and former.get("topologyCalculationTime")
        status["topologyOrder"] = listed
        status["topologyCalculationTime"] = former["topologyCalculationTime"] if same else now
    return status


def _listed(spec: AppGroupSpec, order: TopologyOrder) -> list[dict[str, Any]]:
    """Return the order as the status holds it: by selector, so that it can be searched."""
    return [
        {"workload": _reference(each), "index": order.positions[each.name]}
        for each in sorted(spec.workloads, key=lambda workload: workload.selector)
    ]


def _reference(workload: Workload) -> dict[str, str]:
    parts = {
        "kind": workload.kind,
        "name": workload.name,
        "selector": workload.selector,
        "apiVersion": workload.api_version,
        "namespace": workload.namespace,
    }
    return {key: value for key, value in parts.items() if value}
