"""Makes records of PodDisruptionBudgets, which say which tasks each budget covers and how many of these may end now."""

from __future__ import annotations

import msgspec

from poseidon.custom_records import CustomResource, Reading
from poseidon.disruption_budgets.eviction_answers import is_counted
from poseidon.kube.api.collections import BUDGETS
from poseidon.kube.api.pod_groups import DisruptionBudget
from poseidon.kube.parsing.defects import Defect
from poseidon.pod_rules.label_selectors import parse_requirements
from poseidon.pods.classes import ClassTable
from protos.firmament.v1 import scheduler_pb2 as pb

_MOST_ALLOWED = 2**31 - 1
"""The largest value of the field ``allowed``."""

BUDGET_RECORD = "PodDisruptionBudget"
"""Kind of the records: ``{"namespace", "selector": [{"key", "operator", "values"}, ...] or null, "allowed",
"disrupted": [name of a task, ...]}``."""


def describe(found: DisruptionBudget) -> tuple[bytes, pb.TaskSelector, tuple[Defect, ...]]:
    """Return the payload of a budget's record, the selector of its pods, and the defects of that selector.

    As in the eviction subresource, a budget allows no eviction until its controller has counted its pods after the
    budget's latest change. A malformed selector selects no pods. ``disrupted`` are the pods whose eviction the API
    server has granted and counted; the controller removes pods that still exist two minutes later from this list.
    """
    defects: list[Defect] = []
    namespace = found.metadata.namespace or "default"
    selector = found.spec.selector
    labels = parse_requirements(selector, "spec.selector", defects) if selector is not None else []
    nothing = selector is None or bool(defects)
    status = found.status
    payload = {
        "namespace": namespace,
        "selector": None
        if nothing
        else [{"key": e.key, "operator": e.operator, "values": list(e.values)} for e in labels],
        "allowed": min(max(status.disruptions_allowed, 0), _MOST_ALLOWED)
        if status is not None and is_counted(found)
        else 0,
        "disrupted": [f"{namespace}/{name}" for name in sorted(status.disrupted_pods)]
        if status is not None
        else [],
    }
    looks = pb.TaskSelector(labels=[] if nothing else labels, nothing=nothing, namespaces=[namespace])
    return msgspec.json.encode(payload), looks, tuple(defects)


def budget_resource(classes: ClassTable) -> CustomResource[DisruptionBudget]:
    """Return the description of how budgets become records; the labels that their selectors read go to ``classes``."""

    def read(found: DisruptionBudget) -> Reading:
        payload, looks, defects = describe(found)
        classes.watch(looks)
        name = f"{found.metadata.namespace or 'default'}/{found.metadata.name}"
        return Reading(name, payload, defects)

    return CustomResource(BUDGET_RECORD, (BUDGETS,), read)
