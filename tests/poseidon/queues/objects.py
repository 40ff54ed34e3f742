"""Short-hand for queues, as people write them."""

from __future__ import annotations

from typing import Any

KUEUE = "kueue.x-k8s.io/v1beta2"
LABEL = "kueue.x-k8s.io/queue-name"


def quotas(flavor: str = "default", /, **resources: Any) -> dict:
    """A resource group of one flavor; an amount, or (nominal, borrowing limit, lending limit)."""
    listed = []
    for name, given in resources.items():
        nominal, borrowing, lending = given if isinstance(given, tuple) else (given, None, None)
        each = {"name": name, "nominalQuota": nominal, "borrowingLimit": borrowing, "lendingLimit": lending}
        listed.append({key: value for key, value in each.items() if value is not None})
    return {"coveredResources": [*resources], "flavors": [{"name": flavor, "resources": listed}]}


def cluster_queue(name: str, *groups: dict, cohort: str = "", version: str = KUEUE, **spec: Any) -> dict:
    parent = {"cohortName" if version == KUEUE else "cohort": cohort} if cohort else {}
    return {
        "apiVersion": version,
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {"namespaceSelector": {}, "resourceGroups": list(groups), **parent, **spec},
    }


def local_queue(name: str, queue: str, namespace: str = "shop", **spec: Any) -> dict:
    return {
        "apiVersion": KUEUE,
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterQueue": queue, **spec},
    }


def cohort(name: str, *groups: dict, parent: str = "", version: str = KUEUE, **spec: Any) -> dict:
    above = {"parentName": parent} if parent else {}
    return {
        "apiVersion": version,
        "kind": "Cohort",
        "metadata": {"name": name},
        "spec": {"resourceGroups": list(groups), **above, **spec},
    }


def flavor(name: str = "default", **labels: str) -> dict:
    return {
        "apiVersion": KUEUE,
        "kind": "ResourceFlavor",
        "metadata": {"name": name},
        "spec": {"nodeLabels": labels},
    }


def workload_priority(name: str, value: int) -> dict:
    return {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": value}


def volcano_queue(name: str, **spec: Any) -> dict:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def kai_queue(name: str, **spec: Any) -> dict:
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def elastic_quota(
    name: str,
    namespace: str = "shop",
    *,
    koordinator: bool = False,
    metadata: dict | None = None,
    **spec: Any,
) -> dict:
    group = "scheduling.sigs.k8s.io" if koordinator else "scheduling.x-k8s.io"
    return {
        "apiVersion": f"{group}/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": name, "namespace": namespace, **(metadata or {})},
        "spec": spec,
    }
