"""Implements the binding subresource, which gives a pod its node, once.

Behaviour and messages follow ``BindingREST`` in ``pkg/registry/core/pod/storage`` of Kubernetes. As in Kubernetes, a
binding does not check whether the node exists or has room; that is the scheduler's task.
"""

from __future__ import annotations

from typing import Any

import msgspec

from poseidon.testbed.objects import errors
from poseidon.testbed.objects.history import Record
from poseidon.testbed.objects.pods import set_conditions
from poseidon.testbed.objects.store import Preconditions, Store, decode

_RESOURCE = "pods/binding"


class _Target(msgspec.Struct):
    kind: str = ""
    name: str = ""


class _Metadata(Preconditions):
    name: str = ""
    namespace: str = ""
    annotations: dict[str, str] | None = None


class Binding(msgspec.Struct):
    """A ``v1`` Binding: the URL or its ``metadata`` name the pod, its ``target`` names the node."""

    kind: str = "Binding"
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    target: _Target = msgspec.field(default_factory=_Target)


def decode_binding(body: bytes) -> Binding:
    """Read a Binding from JSON. Raises ``ApiError`` 400 if the JSON is no Binding."""
    binding = errors.decode_as(Binding, body, "Binding in version v1 cannot be handled as a Binding")
    if binding.kind != "Binding":
        raise errors.bad_request(f"the object provided is a {binding.kind}; send a v1 Binding")
    return binding


def bind(store: Store, namespace: str, name: str, binding: Binding, *, dry_run: bool = False) -> Record:
    """Set the pod's ``spec.nodeName`` and its PodScheduled condition; return the pod's new record.

    The pod's nomination is removed, as in Kubernetes since 1.35 (ClearingNominatedNodeNameAfterBinding).

    Raises ``ApiError``: 404 for an unknown pod; 409 if the pod is bound, is being deleted, is gated, or has another
    UID than the binding names; 422 without a target node; 400 if URL and binding disagree.
    """
    metadata, target = binding.metadata, binding.target
    if (metadata.name or name) != name or (metadata.namespace or namespace) != namespace:
        raise errors.bad_request(
            "name or namespace in URL does not match the name or namespace in the Binding object"
        )
    _check_target(name, target)
    collection = store.collection("pods")
    current = store.get(collection, namespace, name)
    metadata.check("pods", current)
    pod = decode(current)
    _check_bindable(pod, name)
    pod["spec"]["nodeName"] = target.name
    if metadata.annotations:
        before = pod["metadata"].get("annotations") or {}
        pod["metadata"]["annotations"] = {**before, **metadata.annotations}
    pod["status"].pop("nominatedNodeName", None)
    scheduled = {"status": "True", "lastProbeTime": None, "lastTransitionTime": store.now()}
    set_conditions(pod["status"], PodScheduled=scheduled)
    return store.replace(collection, current, pod, dry_run=dry_run)


def _check_target(name: str, target: _Target) -> None:
    causes = []
    if target.kind not in ("", "Node"):
        causes.append(errors.make_unsupported_value_cause("target.kind", target.kind, "Node", "<empty>"))
    if not target.name:
        causes.append(errors.make_required_cause("target.name"))
    if causes:
        raise errors.invalid("Binding", "", name, causes)


def _check_bindable(pod: dict[str, Any], name: str) -> None:
    if pod["metadata"].get("deletionTimestamp"):
        raise errors.conflict(_RESOURCE, name, f"pod {name} is being deleted, cannot be assigned to a host")
    if node := pod["spec"].get("nodeName"):
        raise errors.conflict(_RESOURCE, name, f'pod {name} is already assigned to node "{node}"')
    if pod["spec"].get("schedulingGates"):
        raise errors.conflict(_RESOURCE, name, f"pod {name} has non-empty .spec.schedulingGates")
