"""Requires that machines reach a task's volumes.

Three of kube-scheduler's filters check which machines reach volumes, and all of them read the volumes of a class.

Each volume states the reason for refusing machines that do not reach it, and the reason determines the filter. A
volume that exists on a single machine is not part of a shape: see `node_name`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from firmament.core.model import Machine, TaskClass
from firmament.core.reasons import Cause, Reason, Stage, lack_of, of_volume
from firmament.core.rules.framework.node_rule import MachineRefusal, NodeRule
from firmament.core.rules.framework.work import count_checks_of_terms
from firmament.core.state.machines import MachineTable

ELSEWHERE = Cause(Reason.WRONG_VOLUMES)
"""Why machines are refused to a task with local volumes, each of which is on one machine: see `node_name`."""


class _Reach(NodeRule):
    """The base of rules that require a machine to reach the volumes whose reasons belong to the rule's stage."""

    stage: ClassVar[Stage]
    reads_of_task = ("volumes",)
    reads_of_machine = ("labels", "name")
    for_tasks_with = ("volumes",)

    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        """Yield, for each volume of the rule's stage, the machines that do not reach it."""
        for volume in shape.volumes:
            reason = of_volume(volume.reason, in_use=volume.in_use)
            if reason.stage is self.stage:
                yield MachineRefusal(Cause(reason), ~machines.selectors().terms(volume.terms))


class VolumeRestrictions(_Reach):
    """Refuses machines to a task whose volume only one task may use, as long as another task uses it."""

    name = "VolumeRestrictions"
    reasons = (Reason.CLAIM_IN_USE,)
    stage = Stage.IN_USE


class VolumeBinding(_Reach):
    """Requires that a machine matches the node affinity of the task's volumes.

    If a claim is unbound, a volume that could be bound to it must match.
    """

    name = "VolumeBinding"
    reasons = (Reason.WRONG_VOLUMES, Reason.NO_VOLUME_LEFT)
    stage = Stage.VOLUMES

    def count_checks(self, content: TaskClass) -> int:
        """Return the checks for the terms of all volumes, whatever their stage."""
        return count_checks_of_terms([term for volume in content.volumes for term in volume.terms])

    def as_new(self, machine: Machine) -> Machine:
        """Return the machine without its attached volumes and its unclaimed local volumes."""
        offered = {
            key: amount
            for key, amount in machine.allocatable.items()
            if lack_of(key).reason is not Reason.NO_VOLUME_LEFT
        }
        return replace(machine, allocatable=offered, attached=())


class NodeDeclaredFeatures(_Reach):
    """Requires that a machine declares the features that the task needs.

    The driver states the features that a task needs in the form of a volume.
    """

    name = "NodeDeclaredFeatures"
    reasons = (Reason.WRONG_FEATURES,)
    stage = Stage.FEATURES
