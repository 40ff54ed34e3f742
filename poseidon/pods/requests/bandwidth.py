"""Bandwidth that a pod is shaped to, as a request of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.kube.parsing.quantities import QuantityError, amount

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poseidon.pods.requests.resources import Amounts

BANDWIDTH = "network.aware.com/bandwidth"
"""Extended resource: a node's physical bandwidth, and what pods ask for of it, in bits per second."""

BANDWIDTH_ANNOTATIONS = frozenset({"kubernetes.io/ingress-bandwidth", "kubernetes.io/egress-bandwidth"})
"""Annotations by which the bandwidth plugin of CNI shapes a pod's traffic, in bits per second."""


def with_annotated_bandwidth(requests: Amounts, annotations: Mapping[str, str]) -> Amounts:
    """Return requests with at least the larger of both annotations: interfaces send and receive at once.

    What is no quantity counts as absent; the kubelet refuses such a pod by itself.
    """
    wanted = max((_bits(annotations[key]) for key in BANDWIDTH_ANNOTATIONS if key in annotations), default=0)
    return {**requests, BANDWIDTH: wanted} if wanted > requests.get(BANDWIDTH, 0) else requests


def _bits(text: str) -> int:
    try:
        return amount(BANDWIDTH, text)
    except QuantityError:
        return 0
