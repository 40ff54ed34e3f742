"""Writes the message of a task that stays pending: ``0/4 nodes are available: 3 Insufficient cpu.``

The bridge puts this message into the event FailedScheduling and the condition PodScheduled. ``firmament.core.reasons``
has the words of the single reasons.
"""

from __future__ import annotations

from collections.abc import Sequence

from firmament.core.reasons import order_reasons

NO_MACHINES = "no nodes available to schedule pods"
"""The message's only reason in a cluster without machines."""

TOO_FEW_PLACES = "node(s) had room for some of them, but not for all at once"
"""The reason of machines that would take members of a gang, which does not fit as a whole."""


def format_unavailable_nodes(machines: int, counts: Sequence[tuple[str, int]], of_task: str = "") -> str:
    """Return ``0/4 nodes are available: 1 node(s) were unschedulable, 3 Insufficient cpu.``

    ``counts``: (text, machines) pairs, written in kube-scheduler's order, which is that of texts beginning with the
    number. ``of_task``: a fault of the task that holds on every machine; if there is one, nothing else is written.
    """
    if machines == 0:
        return f"0/0 nodes are available: {NO_MACHINES}."
    if of_task:
        return f"0/{machines} nodes are available: {of_task}."
    if not counts:
        return f"0/{machines} nodes are available."
    listed = ", ".join(f"{count} {words}" for words, count in order_reasons(counts))
    return f"0/{machines} nodes are available: {listed}."


def explain_too_few_places(constraints: str) -> str:
    """Return the text for a gang that does not fit.

    ``constraints``: the names of constraints without which the gang would fit; "" if unknown.
    """
    return f"{TOO_FEW_PLACES} (because of {constraints})" if constraints else TOO_FEW_PLACES


def introduce_gang(name: str, needed: int) -> str:
    """Return the first part of the message for a member of a gang that was tried as a whole.

    ``needed``: the number of places that the gang needs at once.
    """
    return f"gang {name} needs {'1 place' if needed == 1 else f'{needed} places at once'}: "
