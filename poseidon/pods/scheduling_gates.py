"""Decides whether scheduling gates keep a pod from being scheduled, and says so."""

from __future__ import annotations

from poseidon.kube.api.pods import Pod

GATED_REASON = "Scheduling is blocked due to non-empty scheduling gates"
"""kube-scheduler's words for a pod with scheduling gates."""


def is_gated(pod: Pod) -> bool:
    """Return whether a pod has scheduling gates; nobody schedules it before these are removed."""
    return bool(pod.spec.scheduling_gates)


def describe_gates(pod: Pod) -> str:
    """Return a sentence that names a pod's scheduling gates; "" if it has none."""
    gates = [each.name for each in pod.spec.scheduling_gates]
    return f"Nobody schedules it before its scheduling gates are gone: {', '.join(gates)}." if gates else ""
