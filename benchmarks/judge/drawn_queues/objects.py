"""States drawn cases as objects of Kueue, for its own scheduler and for the bridge's reading of queues."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from benchmarks.judge.drawn_queues.drawing import FLAVORS, DrawnCase, DrawnWorkload

BEGIN = 1_700_000_000
"""Seconds since the epoch at time 0 of a case."""
NOW = 1_000
"""Time of decisions."""
CYCLES = 8
"""Cycles of the other program, and the most rounds of the core: more than workloads wait."""
NAMESPACE = "default"


def state_case(case: DrawnCase) -> dict[str, Any]:
    """Return a case as the other program reads it."""
    return {
        "name": case.name,
        "fair": case.fair,
        "strategies": [*case.strategies],
        "now": format_time(NOW),
        "cycles": CYCLES,
        "flavors": list_flavors(),
        "clusterQueues": [state_spec(name, spec) for name, spec in case.queues.items()],
        "cohorts": [state_spec(name, spec) for name, spec in case.cohorts.items()],
        "localQueues": [_state_local_queue(name) for name in case.queues],
        "workloads": [_state_workload(each) for each in case.workloads],
    }


def format_time(seconds: float) -> str:
    """Return a time of a case as Kubernetes writes it."""
    return datetime.fromtimestamp(BEGIN + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_amount(resource: str, amount: int) -> str:
    """Return an amount as a quantity: cpu in thousandths of a core, others in whole numbers."""
    return f"{amount}m" if resource == "cpu" else str(amount)


def list_flavors() -> list[dict[str, Any]]:
    """Return the ResourceFlavors of all cases, each of the nodes with its name as a label."""
    return [{"metadata": {"name": name}, "spec": {"nodeLabels": {"flavor": name}}} for name in FLAVORS]


def state_spec(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return a ClusterQueue or Cohort with amounts as quantities."""
    copied = json.loads(json.dumps(spec))
    for group in copied.get("resourceGroups") or ():
        for flavor in group["flavors"]:
            for stated in flavor["resources"]:
                for field in ("nominalQuota", "borrowingLimit", "lendingLimit"):
                    if field in stated:
                        stated[field] = format_amount(stated["name"], stated[field])
    return {"metadata": {"name": name}, "spec": copied}


def _state_local_queue(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"clusterQueue": name}}


def _state_workload(made: DrawnWorkload) -> dict[str, Any]:
    quantities = {resource: format_amount(resource, amount) for resource, amount in made.requests.items()}
    container = {"name": "c", "image": "i", "resources": {"requests": quantities}}
    podset = {
        "name": "main",
        "count": made.pods,
        "template": {"metadata": {}, "spec": {"containers": [container], "restartPolicy": "Never"}},
    }
    metadata = {
        "name": made.name,
        "namespace": NAMESPACE,
        "uid": f"uid-{made.name}",
        "creationTimestamp": format_time(made.created),
    }
    spec = {"queueName": made.queue, "priority": made.priority, "podSets": [podset]}
    status: dict[str, Any] = {}
    if made.flavor:
        assignment = {
            "name": "main",
            "count": made.pods,
            "flavors": dict.fromkeys(made.requests, made.flavor),
            "resourceUsage": {
                resource: format_amount(resource, amount * made.pods)
                for resource, amount in made.requests.items()
            },
        }
        status = {
            "admission": {"clusterQueue": made.queue, "podSetAssignments": [assignment]},
            "conditions": [
                {
                    "type": kind,
                    "status": "True",
                    "reason": "Drawn",
                    "message": "drawn",
                    "lastTransitionTime": format_time(made.admitted),
                }
                for kind in ("QuotaReserved", "Admitted")
            ],
        }
    return {"metadata": metadata, "spec": spec, "status": status}
