"""Applies RuntimeClasses: adds overhead, node selector and tolerations to pods."""

from __future__ import annotations

from msgspec.structs import replace

from poseidon.kube.api.nodes import RuntimeClass
from poseidon.kube.api.pods import PodSpec


class RuntimeClassMismatchError(ValueError):
    """Raised for a pod that contradicts its RuntimeClass; the text is the API server's."""


def apply_runtime_class(spec: PodSpec, found: RuntimeClass | None) -> PodSpec:
    """Return a pod's spec completed by its runtime class, or unchanged if ``found`` is None.

    Raises ``RuntimeClassMismatchError`` if the pod and the class contradict each other.

    A pod without an overhead gets the overhead of its class. If both node selectors have a key, the values must be
    equal.
    """
    if found is None:
        return spec
    overhead = found.overhead.pod_fixed
    if spec.overhead and spec.overhead != overhead:
        raise RuntimeClassMismatchError(
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        )
    for key, value in found.scheduling.node_selector.items():
        if spec.node_selector.get(key, value) != value:
            raise RuntimeClassMismatchError(
                f"pod rejected: conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {spec.node_selector[key]}"
            )
    added = [each for each in found.scheduling.tolerations if each not in spec.tolerations]
    return replace(
        spec,
        overhead=overhead,
        node_selector={**spec.node_selector, **found.scheduling.node_selector},
        tolerations=(*spec.tolerations, *added),
    )
