"""Keeps the AppGroups: their specs in force, their records for the solver, and the statuses to write."""

from __future__ import annotations

from typing import Any

from poseidon.app_network.last_good_specs import GoodStates, Kept
from poseidon.app_network.proposals import Finding, Notice, Proposal, judge_validity, propose
from poseidon.app_network.spec.app_groups import AppGroupSpec, Workload, read_app_group
from poseidon.app_network.spec.keys import APP_GROUP_KIND, ObjectKey
from poseidon.app_network.spec.ordering import TopologyOrder, app_group_payload, topology_order
from poseidon.app_network.used_bandwidth import Demand, Members
from poseidon.kube.api.event_reasons import ConditionType, EventReason
from poseidon.kube.api.other_projects.app_network import AppGroup


class AppGroups(GoodStates[AppGroup, AppGroupSpec]):
    """All AppGroups by name: the last spec of each without defects, and the content to write into its object."""

    def __init__(self) -> None:
        super().__init__(APP_GROUP_KIND, read_app_group)

    def payload(self, key: ObjectKey, _: Members) -> bytes | None:
        """Return the payload of an AppGroup's record, None if the AppGroup has no spec in force."""
        spec = self.get_last_good(key)
        return None if spec is None else app_group_payload(spec, topology_order(spec))

    def demands(self, key: ObjectKey) -> tuple[Demand, ...] | None:
        """Return the bandwidth that an AppGroup's workloads require, None if the AppGroup has no spec in force."""
        spec = self.get_last_good(key)
        if spec is None:
            return None
        return tuple(
            Demand(each.selector, other.selector, other.min_bandwidth)
            for each in spec.workloads
            for other in each.dependencies
            if other.min_bandwidth
        )

    def reconcile(self, key: ObjectKey, members: Members, now: str) -> tuple[Proposal, list[Notice]] | None:
        """Return the patch for an AppGroup, and messages to send as events; None if the AppGroup does not exist."""
        kept = self.get(key)
        if kept is None:
            return None
        order = topology_order(kept.spec) if kept.spec is not None else None
        findings = [judge_validity(kept.defects, in_force=kept.spec is not None)]
        if order is not None:
            findings.append(_check_order(order))
        return propose(kept, findings, _status(kept, order, members, now), now)


def _check_order(order: TopologyOrder) -> Finding:
    if not order.problem:
        return Finding(
            ConditionType.ORDERED, True, "Sorted", f"the workloads are ordered by {order.algorithm}"
        )
    reason = EventReason.DEPENDENCY_CYCLE if order.cyclic else EventReason.UNKNOWN_ALGORITHM
    return Finding(ConditionType.ORDERED, not order.cyclic, reason, order.problem, warns=True)


def _status(
    kept: Kept[AppGroup, AppGroupSpec], order: TopologyOrder | None, members: Members, now: str
) -> dict[str, Any]:
    former, name = kept.status, kept.key.name
    status: dict[str, Any] = {"runningWorkloads": members.running(name)}
    if former.get("scheduleStartTime") or members.has_pods(name):
        status["scheduleStartTime"] = former.get("scheduleStartTime") or now
    if kept.spec is not None and order is not None:
        # The list is sorted by selector, so that readers can search it quickly.
        listed = [
            {"workload": _reference(each), "index": order.positions[each.name]}
            for each in sorted(kept.spec.workloads, key=lambda workload: workload.selector)
        ]
        same = former.get("topologyOrder") == listed and former.get("topologyCalculationTime")
        status["topologyOrder"] = listed
        status["topologyCalculationTime"] = former["topologyCalculationTime"] if same else now
    return status


def _reference(workload: Workload) -> dict[str, str]:
    parts = {
        "kind": workload.kind,
        "name": workload.name,
        "selector": workload.selector,
        "apiVersion": workload.api_version,
        "namespace": workload.namespace,
    }
    return {key: value for key, value in parts.items() if value}
