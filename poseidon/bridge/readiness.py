"""Decides whether a bridge is ready, as ``/readyz`` says: whether it can place pods, or stand by for the leader."""

from __future__ import annotations

from typing import NamedTuple


class Readiness(NamedTuple):
    """What a bridge has reached on its way to placing pods or standing by."""

    knows_cluster: bool
    """Whether it has read all objects of the cluster once."""
    leads: bool
    """Whether its process may write; a standby needs no stream to a solver."""
    has_stream: bool
    """Whether a stream to a solver is open."""


def explain_unready(bridge: Readiness | None) -> str:
    """Return what a process still needs before it can place pods or stand by, "" for nothing.

    None: the bridge waits until the solver has stated which data it needs.
    """
    if bridge is None:
        return "asking the solver what it needs"
    if not bridge.knows_cluster:
        return "the cluster is not known yet"
    return "no stream to a solver" if bridge.leads and not bridge.has_stream else ""
