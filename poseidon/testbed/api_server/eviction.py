"""Implements the eviction subresource: a delete of a pod that disruption budgets may refuse.

Behaviour and messages follow ``EvictionREST`` in ``pkg/registry/core/pod/storage`` of Kubernetes.
"""

from __future__ import annotations

from typing import Any

import msgspec

from poseidon.testbed.api_server.operations import Operations
from poseidon.testbed.api_server.requests import DeleteOptions
from poseidon.testbed.objects import errors
from poseidon.testbed.objects.history import Record
from poseidon.testbed.objects.pods import condition_of
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.objects.store import decode

Object = dict[str, Any]

_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_ALWAYS_ALLOW = "AlwaysAllow"


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class Eviction(msgspec.Struct, rename="camel"):
    """A policy/v1 Eviction, which names the pod and holds the options of its deletion."""

    kind: str = "Eviction"
    api_version: str = "policy/v1"
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    delete_options: DeleteOptions | None = None


def decode_eviction(body: bytes) -> Eviction:
    """Read an Eviction from JSON. Raises ``ApiError`` 400 if the JSON is no Eviction."""
    eviction = errors.decode_as(Eviction, body, "Eviction in version v1 cannot be handled as a Eviction")
    if eviction.kind != "Eviction" or eviction.api_version != "policy/v1":
        raise errors.bad_request(
            f"no kind {eviction.kind!r} is registered for version {eviction.api_version!r}; "
            "send a policy/v1 Eviction"
        )
    return eviction


def evict(
    operations: Operations, namespace: str, name: str, eviction: Eviction, *, dry_run: bool = False
) -> None:
    """Delete a pod unless a budget forbids it.

    Raises ``ApiError``: 400 if URL and eviction disagree, 404 for an unknown pod, 409 if a precondition does not
    hold, 429 if a budget allows no disruption, 500 if several budgets cover the pod.
    """
    metadata = eviction.metadata
    if (metadata.name or name) != name or (metadata.namespace or namespace) != namespace:
        raise errors.bad_request("name in URL does not match name in Eviction object")
    options = eviction.delete_options or DeleteOptions()
    record = operations.get(PODS, namespace, name)
    pod = decode(record)
    # A pod that does not run yet, has ended, or is being deleted is evicted, whatever budgets say.
    ends = pod["status"].get("phase") in ("Pending", "Succeeded", "Failed")
    if not (ends or pod["metadata"].get("deletionTimestamp")):
        _ask_budgets(operations, record, pod)
    dry_run = dry_run or "All" in options.dry_run
    grace = options.grace_period_seconds
    operations.delete(PODS, namespace, name, options.preconditions, grace=grace, dry_run=dry_run)


def _ask_budgets(operations: Operations, record: Record, pod: Object) -> None:
    operations.disruptions.refresh()
    budgets = operations.disruptions.covering(record.uid)
    if len(budgets) > 1:
        raise errors.ApiError(500, "InternalError", _SEVERAL)
    for budget in budgets:
        obj = decode(budget)
        status = obj["status"]
        if condition_of(pod, "Ready") != "True":
            # The budget does not count a pod as healthy that is not ready.
            always = (obj.get("spec") or {}).get("unhealthyPodEvictionPolicy") == _ALWAYS_ALLOW
            if always or status["currentHealthy"] >= status["desiredHealthy"] > 0:
                continue
        if status["disruptionsAllowed"] <= 0:
            why = (
                f"The disruption budget {budget.name} needs {status['desiredHealthy']} healthy pods "
                f"and has {status['currentHealthy']} currently"
            )
            cause = {"reason": "DisruptionBudget", "message": why}
            raise errors.ApiError(429, "TooManyRequests", _REFUSED, {"causes": [cause]})
