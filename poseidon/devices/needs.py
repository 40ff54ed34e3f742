"""Defines the needs of pods because of device claims, and writes them into the messages of classes."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from protos.firmament.v1 import scheduler_pb2 as pb


class ClaimNeed(NamedTuple):
    """A claim of a pod, as the pod's class states it; exactly one of ``claim`` and ``spec`` is given."""

    name: str
    """The pod's name for the claim."""
    claim: str = ""
    """``namespace/name`` of a claim that others may share, or that has devices already."""
    spec: str = ""
    """JSON of the spec of a claim that was made for this pod alone; all pods of a template therefore share a class."""


DeviceNeeds: TypeAlias = tuple[ClaimNeed, ...]
"""The claims of a pod in the order of its spec; empty for most pods."""


def add_claims(message: pb.TaskClass, needs: DeviceNeeds) -> None:
    """Add a pod's claims to its class, unless the class is invalid and so never placed."""
    if not message.invalid:
        message.claims.extend(pb.TaskClaim(name=name, claim=claim, spec=spec) for name, claim, spec in needs)
