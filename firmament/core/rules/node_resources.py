"""NodeResourcesFit: machines must have enough left of every resource that a task requests.

The free amounts of machines change during a round, so the caller passes them to `find_refusals_by_resource`. The rule
itself refuses machines only if a task requests a resource that no machine offers; then it refuses all machines.
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

_CHECKS_PER_RESOURCE = 3
_FEW_RESOURCES = 8
"""Number of resources that ordinary machines offer; each further requested resource costs a round a column more."""


class NodeResources(NodeRule):
    """Requires that some machine offers every resource that the task requests."""

    name = "NodeResourcesFit"
    reasons = (Reason.INSUFFICIENT, Reason.TOO_MANY)
    reads_of_task = ("requests",)
    reads_of_machine = ("allocatable",)

    def key(self, machines: MachineTable, shape: TaskClass) -> Hashable:
        """Return the part of a shape on which refusals depend: the first requested resource that no machine offers."""
        return _find_offered_nowhere(machines, shape)

    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        """Yield a refusal of all machines for the first requested resource that no machine offers."""
        for resource in _find_offered_nowhere(machines, shape):
            yield MachineRefusal(lack_of(resource), np.ones(len(machines), dtype=np.bool_))

    def count_checks(self, content: TaskClass) -> int:
        """Return three checks for each requested resource beyond the first eight."""
        return max(0, len(content.requests) - _FEW_RESOURCES) * _CHECKS_PER_RESOURCE

    def count_common_checks(self, contents: Sequence[TaskClass]) -> Int64:
        """Return ``count_checks`` of each class, int64[C], without a call per class."""
        named = np.fromiter([len(content.requests) for content in contents], dtype=np.int64)
        checks: Int64 = np.maximum(named - _FEW_RESOURCES, 0) * _CHECKS_PER_RESOURCE
        return checks

    def cures(self, standing: ChangedMachine) -> Iterator[CureProposal]:
        """Yield cures: smaller requests, then a larger machine."""
        yield from _lower_requests(standing)
        yield from _enlarge_machine(standing)


def _find_offered_nowhere(machines: MachineTable, shape: TaskClass) -> tuple[str, ...]:
    """Return the first requested resource of a shape that no machine offers, as a tuple; () if there is none."""
    known = machines.resources.known
    for name, amount in shape.requests:
        if name not in known and amount:
            return (name,)
    return ()


def find_refusals_by_resource(free: Int64, request: Int64, resources: Sequence[str]) -> list[MachineRefusal]:
    """Return one refusal for each resource of which some machine has too little left.

    ``free``: int64[M, K], what machines have left; ``request``: int64[K], what a task requests.
    """
    found = []
    for column in np.flatnonzero(request > 0).tolist():
        lacking = free[:, column] < request[column]
        if lacking.any():
            found.append(MachineRefusal(lack_of(resources[column]), lacking))
    return found


# --- Cures for lacking resources.


def list_lacking_amounts(standing: ChangedMachine) -> dict[str, tuple[int, int]]:
    """Return, for each resource of which the machine has too little free, the requested and the free amount."""
    asked = {**dict(standing.content.requests), PODS: 1}
    return {
        resource: (amount, max(0, standing.free.get(resource, 0)))
        for resource, amount in sorted(asked.items())
        if amount > max(0, standing.free.get(resource, 0))
    }


def _lower_requests(standing: ChangedMachine) -> Iterator[CureProposal]:
    """Yield the cure that lowers the requests to the free amounts; nothing if none of some lacking resource is free."""
    lacks = list_lacking_amounts(standing)
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


def _enlarge_machine(standing: ChangedMachine) -> Iterator[CureProposal]:
    """Yield the cure that enlarges the machine by the amounts that the task lacks."""
    lacks = list_lacking_amounts(standing)
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
    """Return whether some resource is lacking, and each lacking one is an ordinary resource, not a count of volumes."""
    return bool(lacks) and lacks_only_room([lack_of(resource) for resource in lacks])
