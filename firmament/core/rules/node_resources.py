"""NodeResourcesFit: machines must have enough left of all that a task requests.

How much is left belongs to the round: `lacks` says it of amounts that are given. By itself, a machine refuses whoever
asks for something that no machine offers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cost_models.interface import Int64
from firmament.core.changes import ChangedMachine, CureChange, CureKind, CureProposal, TrialChange
from firmament.core.model import PODS, TaskClass
from firmament.core.reasons import Reason, lack_of, lacks_only_room
from firmament.core.rules.framework.node_rule import MachineRefusal, NodeRule
from firmament.core.state.machines import MachineTable

_LOOKS_PER_RESOURCE = 3
_FEW_RESOURCES = 8
"""Resources that ordinary machines offer; it takes columns of their own to hold others against machines."""


class NodeResources(NodeRule):
    """A resource that the task requests must be offered by some machine."""

    name = "NodeResourcesFit"
    reasons = (Reason.INSUFFICIENT, Reason.TOO_MANY)
    reads_of_task = ("requests",)
    reads_of_machine = ("allocatable",)

    def key(self, machines: MachineTable, shape: TaskClass) -> Hashable:
        """Return the first resource that no machine offers: amounts do not matter otherwise."""
        return _find_offered_nowhere(machines, shape)

    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        """Yield all machines for the first resource that none offers."""
        for resource in _find_offered_nowhere(machines, shape):
            yield MachineRefusal(lack_of(resource), np.ones(len(machines), dtype=np.bool_))

    def count_looks(self, content: TaskClass) -> int:
        """Return some for each resource beyond those that machines commonly offer."""
        return max(0, len(content.requests) - _FEW_RESOURCES) * _LOOKS_PER_RESOURCE

    def count_common_looks(self, contents: Sequence[TaskClass]) -> Int64:
        """Return the same of several classes, int64[C], without a call for each."""
        named = np.fromiter([len(content.requests) for content in contents], dtype=np.int64)
        looks: Int64 = np.maximum(named - _FEW_RESOURCES, 0) * _LOOKS_PER_RESOURCE
        return looks

    def cures(self, standing: ChangedMachine) -> Iterator[CureProposal]:
        """Yield smaller requests, then a larger machine."""
        yield from _smaller(standing)
        yield from _larger(standing)


def _find_offered_nowhere(machines: MachineTable, shape: TaskClass) -> tuple[str, ...]:
    """Return the first resource that a shape asks for and no machine offers; none if there is no such one."""
    known = machines.resources.known
    for name, amount in shape.requests:
        if name not in known and amount:
            return (name,)
    return ()


def lacks(free: Int64, request: Int64, resources: Sequence[str]) -> list[MachineRefusal]:
    """Return a refusal per resource of which some machine has not enough left: ``free`` int64[M, K], ``request``
    int64[K].
    """
    found = []
    for column in np.flatnonzero(request > 0).tolist():
        lacking = free[:, column] < request[column]
        if lacking.any():
            found.append(MachineRefusal(lack_of(resources[column]), lacking))
    return found


# --- What could be changed where something is lacking.


def lacking(standing: ChangedMachine) -> dict[str, tuple[int, int]]:
    """Return by resource what the task asks for and what is free, where that is less."""
    asked = {**dict(standing.content.requests), PODS: 1}
    return {
        resource: (amount, max(0, standing.free.get(resource, 0)))
        for resource, amount in sorted(asked.items())
        if amount > max(0, standing.free.get(resource, 0))
    }


def _smaller(standing: ChangedMachine) -> Iterator[CureProposal]:
    """Yield requests as large as what is free, where something is."""
    lacks = lacking(standing)
    if not _are_requested(lacks) or any(free == 0 for _, free in lacks.values()):
        return
    steps = [
        CureChange(CureKind.LOWER_REQUEST, resource, before=asked, after=free)
        for resource, (asked, free) in lacks.items()
    ]
    requests = tuple(
        (resource, lacks[resource][1] if resource in lacks else amount)
        for resource, amount in standing.content.requests
    )
    yield CureProposal(
        tuple(steps), TrialChange(replace(standing.content, requests=requests), standing.machine)
    )


def _larger(standing: ChangedMachine) -> Iterator[CureProposal]:
    """Yield a machine that offers as much more as is lacking."""
    lacks = lacking(standing)
    if not _are_requested(lacks):
        return
    offered = dict(standing.machine.allocatable)
    steps = []
    for resource, (asked, _) in lacks.items():
        before = offered.get(resource, 0)
        offered[resource] = before + asked - standing.free.get(resource, 0)
        steps.append(
            CureChange(CureKind.ENLARGE_MACHINE, resource, standing.machine.name, before, offered[resource])
        )
    machine = replace(standing.machine, allocatable=offered)
    yield CureProposal(tuple(steps), TrialChange(standing.content, machine))


def _are_requested(lacks: Mapping[str, object]) -> bool:
    """Return whether something is lacking, and all of it resources that people request and machines offer: no
    volumes.
    """
    return bool(lacks) and lacks_only_room([lack_of(resource) for resource in lacks])
