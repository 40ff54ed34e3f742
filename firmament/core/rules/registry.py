"""The rules about machines in kube-scheduler's order of filters, as one: whoever asks about machines asks here.

To add a rule, write a file with a `NodeRule` and name it in `DEFAULT`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from operator import attrgetter

from cost_models.interface import Needs
from firmament.core.model import Machine, TaskClass
from firmament.core.reasons import AnyReason, Cause
from firmament.core.rules.node_affinity import NodeAffinity
from firmament.core.rules.node_name import NodeName
from firmament.core.rules.node_ready import NodeReady
from firmament.core.rules.node_resources import NodeResources
from firmament.core.rules.node_rule import MachineRefusal, NodeRule
from firmament.core.rules.node_unschedulable import NodeUnschedulable
from firmament.core.rules.node_volumes import NodeDeclaredFeatures, VolumeBinding, VolumeRestrictions
from firmament.core.rules.storage_capacity import StorageCapacity
from firmament.core.rules.taint_toleration import TaintToleration
from firmament.core.state.machines import MachineTable

DEFAULT: tuple[NodeRule, ...] = (
    NodeName(),
    NodeUnschedulable(),
    TaintToleration(),
    NodeReady(),
    NodeAffinity(),
    NodeResources(),
    VolumeRestrictions(),
    VolumeBinding(),
    NodeDeclaredFeatures(),
    StorageCapacity(),
)
"""The first that refuses a machine to a task is told: by the stage of its reason, then by its place here. Those
whose answers do not last come after all others."""


class _Asked:
    """A rule, and whether it has to be asked."""

    def __init__(self, rule: NodeRule) -> None:
        self.rule = rule
        self._stated = [attrgetter(field) for field in rule.for_tasks_with]
        self._there = frozenset(rule.for_machines_with)

    def concerns(self, machines: MachineTable, shape: TaskClass) -> bool:
        """Whether the rule may refuse machines to a shape, as far as it has declared that."""
        if self._stated and not any(stated(shape) for stated in self._stated):
            return False
        return not self._there or not self._there.isdisjoint(machines.stated)


class NodeRules:
    """An ordered tuple of rules."""

    def __init__(self, rules: Sequence[NodeRule]) -> None:
        """Raise ``ValueError`` if two rules have one name."""
        names = [rule.name for rule in rules]
        if len(set(names)) < len(names):
            raise ValueError(f"two rules have one name: {', '.join(names)}")
        self.rules = tuple(rules)
        self.needs = Needs.merge(rule.needs for rule in rules)
        self._lasting = [_Asked(rule) for rule in rules if rule.lasting]
        self._passing = [_Asked(rule) for rule in rules if not rule.lasting]
        self._of_reason = {reason: rule for rule in rules for reason in rule.reasons}
        own_keys = [each.rule for each in self._lasting if type(each.rule).key is not NodeRule.key]
        read = {
            field for each in self._lasting if each.rule not in own_keys for field in each.rule.reads_of_task
        }
        self._own_keys = own_keys
        self._read = attrgetter("invalid", *sorted(read))

    def key(self, machines: MachineTable, shape: TaskClass) -> Hashable:
        """Return what of a shape the lasting refusals depend on, and whether it is invalid."""
        return self._read(shape), *[rule.key(machines, shape) for rule in self._own_keys]

    def lasting_refusals(self, machines: MachineTable, shape: TaskClass) -> list[MachineRefusal]:
        """Return what holds as long as the ``static_version`` of the machines, in order of stages, then of rules."""
        asked = (each.rule for each in self._lasting if each.concerns(machines, shape))
        found = (each for rule in asked for each in rule.refusals(machines, shape))
        return sorted(found, key=lambda each: each.cause.reason.stage)

    def passing_refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        """Yield what has to be asked each time."""
        for each in self._passing:
            if each.concerns(machines, shape):
                yield from each.rule.refusals(machines, shape)

    def rule_of(self, reason: AnyReason) -> NodeRule | None:
        """Return the rule that refuses machines for a reason; None if it is none of these."""
        return self._of_reason.get(reason)

    def as_new(self, machine: Machine) -> Machine:
        """Return a machine as one more like it would be."""
        for rule in self.rules:
            machine = rule.as_new(machine)
        return machine

    def binds_running(self, cause: Cause) -> bool:
        """Whether a task that runs on a machine which is refused to it now breaks a rule."""
        rule = self.rule_of(cause.reason)
        return rule is None or rule.binds_running


def default_rules() -> NodeRules:
    """Return the rules of `DEFAULT`."""
    return NodeRules(DEFAULT)
