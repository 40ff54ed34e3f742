"""Where a task's volumes can be reached: three of kube-scheduler's filters, which ask one question of the class.

Volumes bring the words for machines that do not reach them; these say which of the filters it is. A volume of a single
machine is no part of a shape: see `pins`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from firmament.core.model import Machine, TaskClass
from firmament.core.reasons import Cause, Reason, Stage, lack_of, of_volume
from firmament.core.rules.framework.node_rule import MachineRefusal, NodeRule
from firmament.core.rules.framework.work import count_of_terms
from firmament.core.state.machines import MachineTable

ELSEWHERE = Cause(Reason.WRONG_VOLUMES)
"""Why machines are refused to a task whose volumes are each on one machine: see `node_name`."""


class _Reach(NodeRule):
    """Machines must reach the volumes that speak at one stage."""

    stage: ClassVar[Stage]
    reads_of_task = ("volumes",)
    reads_of_machine = ("labels", "name")
    for_tasks_with = ("volumes",)

    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        """Yield for each volume the machines that do not reach it."""
        for volume in shape.volumes:
            reason = of_volume(volume.reason, in_use=volume.in_use)
            if reason.stage is self.stage:
                yield MachineRefusal(Cause(reason), ~machines.selectors().terms(volume.terms))


class VolumeRestrictions(_Reach):
    """Closes machines to a task whose volume only one task may use, as long as another task has it."""

    name = "VolumeRestrictions"
    reasons = (Reason.CLAIM_IN_USE,)
    stage = Stage.IN_USE


class VolumeBinding(_Reach):
    """A machine must match the node affinity of the task's volumes, or one of what could be bound for it."""

    name = "VolumeBinding"
    reasons = (Reason.WRONG_VOLUMES, Reason.NO_VOLUME_LEFT)
    stage = Stage.VOLUMES

    def count_looks(self, content: TaskClass) -> int:
        """Return those for the terms of all volumes, whichever filter they are about."""
        return count_of_terms([term for volume in content.volumes for term in volume.terms])

    def as_new(self, machine: Machine) -> Machine:
        """Return the machine without the volumes that are in it, unclaimed or attached."""
        offered = {
            key: amount
            for key, amount in machine.allocatable.items()
            if lack_of(key).reason is not Reason.NO_VOLUME_LEFT
        }
        return replace(machine, allocatable=offered, attached=())


class NodeDeclaredFeatures(_Reach):
    """A machine must declare the features that the task needs, which are told in the form of a volume."""

    name = "NodeDeclaredFeatures"
    reasons = (Reason.WRONG_FEATURES,)
    stage = Stage.FEATURES
