"""Defines the reasons for which a machine is refused to a task, and all their words.

A reason says at which stage of kube-scheduler's filters it is found, how severe it is, and what cures it. Code that
decides by a reason compares values. The words are for people, and for messages between processes: only this module
makes and reads them. `firmament.core.diagnosis.failed_scheduling_message` makes messages of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import NamedTuple, Self, TypeAlias

from firmament.core.model import PODS, Taint


class Stage(IntEnum):
    """The position of a filter in kube-scheduler's order.

    Filters of models, which kube-scheduler does not have, run last.
    """

    NAMED = 0
    NODE = 1
    PORTS = 2
    RESOURCES = 3
    IN_USE = 4
    ATTACHMENTS = 5
    VOLUMES = 6
    RULES = 7
    FEATURES = 8
    MODELS = 9


class Severity(Enum):
    """Whether evictions may help, as kube-scheduler's status of a filter says."""

    UNSCHEDULABLE = "Unschedulable"
    """The machine may become acceptable if tasks on it leave."""
    UNRESOLVABLE = "UnschedulableAndUnresolvable"
    """The machine stays unacceptable whichever tasks leave."""


class CuredBy(Enum):
    """The event that would make a machine take a task that it refuses."""

    ROOM = "room"
    """Smaller requests, a larger machine, or fewer tasks on it: nothing is lacking but resources."""
    CHANGE = "change"
    """The reason is cured by a change to the task or to the machine itself, whatever runs elsewhere or there."""
    OTHERS = "others"
    """The reason is cured by other tasks in other places, or by dropping a constraint about other tasks.

    Reasons of models are assumed to be of this kind.
    """


_CURABLE, _FINAL = Severity.UNSCHEDULABLE, Severity.UNRESOLVABLE


class Reason(Enum):
    """A reason why the scheduler itself refuses a machine; reasons that kube-scheduler has too are in its words.

    The value is the text for people, without the detail that a `Cause` may have.
    """

    text: str
    """The enum's value, stored again: reading an attribute is ten times as fast, and one task needs hundreds."""
    stage: Stage
    severity: Severity
    cured_by: CuredBy
    of_task: bool

    def __new__(
        cls, words: str, stage: Stage, severity: Severity, cured_by: CuredBy = CuredBy.OTHERS
    ) -> Self:
        """Make a member whose value is its words."""
        member = object.__new__(cls)
        member._value_ = member.text = words
        member.stage, member.severity, member.cured_by = stage, severity, cured_by
        member.of_task = False
        return member

    WRONG_NAME = ("node(s) didn't match the requested node name", Stage.NAMED, _FINAL, CuredBy.CHANGE)
    NOT_NAMED = ("node(s) didn't satisfy plugin(s) [NodeAffinity]", Stage.NAMED, _FINAL, CuredBy.CHANGE)
    CORDONED = ("node(s) were unschedulable", Stage.NODE, _FINAL, CuredBy.CHANGE)
    UNTOLERATED = ("node(s) had untolerated taint(s)", Stage.NODE, _FINAL, CuredBy.CHANGE)
    NOT_READY = ("node(s) were not ready", Stage.NODE, _FINAL, CuredBy.CHANGE)
    WRONG_LABELS = ("node(s) didn't match Pod's node affinity/selector", Stage.NODE, _FINAL, CuredBy.CHANGE)
    PORTS_TAKEN = ("node(s) didn't have free ports for the requested pod ports", Stage.PORTS, _CURABLE)
    TOO_MANY = ("Too many pods", Stage.RESOURCES, _CURABLE, CuredBy.ROOM)
    INSUFFICIENT = ("Insufficient", Stage.RESOURCES, _CURABLE, CuredBy.ROOM)
    NO_DISK = ("node(s) had no available disk", Stage.IN_USE, _CURABLE)
    CLAIM_IN_USE = (
        (
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
            "already in-use by another pod"
        ),
        Stage.IN_USE,
        _CURABLE,
    )
    TOO_MANY_VOLUMES = ("node(s) exceed max volume count", Stage.ATTACHMENTS, _CURABLE)
    WRONG_VOLUMES = (
        "node(s) didn't match PersistentVolume's node affinity",
        Stage.VOLUMES,
        _FINAL,
        CuredBy.CHANGE,
    )
    NO_VOLUME_LEFT = (
        "node(s) didn't find available persistent volumes to bind",
        Stage.VOLUMES,
        _FINAL,
        CuredBy.CHANGE,
    )
    NO_STORAGE = ("node(s) did not have enough free storage", Stage.VOLUMES, _FINAL, CuredBy.CHANGE)
    NO_DOMAIN = (
        "node(s) didn't match pod topology spread constraints (missing required label)",
        Stage.RULES,
        _FINAL,
        CuredBy.CHANGE,
    )
    SKEWED = ("node(s) didn't match pod topology spread constraints", Stage.RULES, _CURABLE)
    NOT_NEAR = ("node(s) didn't match pod affinity rules", Stage.RULES, _FINAL)
    TOO_NEAR = ("node(s) didn't match pod anti-affinity rules", Stage.RULES, _CURABLE)
    KEPT_OFF = ("node(s) didn't satisfy existing pods anti-affinity rules", Stage.RULES, _CURABLE)
    WRONG_FEATURES = ("node(s) didn't match Pod's required features", Stage.FEATURES, _FINAL, CuredBy.CHANGE)
    RESERVED = ("node(s) were reserved for a pod that has waited longer", Stage.MODELS, _CURABLE)


@dataclass(frozen=True, slots=True)
class StatedReason:
    """A reason in the words of its source: a cost model, a volume, an invalid class, or a further rule."""

    value: str
    stage: Stage = Stage.MODELS
    severity: Severity = _FINAL
    cured_by: CuredBy = CuredBy.OTHERS
    of_task: bool = False
    """Whether the reason is about the task, wherever it goes: kube-scheduler states it without a number of nodes."""

    @property
    def text(self) -> str:
        """The text of the reason; members of `Reason` have an attribute with this name, too."""
        return self.value


AnyReason: TypeAlias = Reason | StatedReason


def by_limit(words: str) -> StatedReason:
    """Return the reason for a limit between tasks that a model states.

    The limit holds as long as the other tasks stay.
    """
    return StatedReason(words, severity=_CURABLE)


def by_kept_room(name: str, until: str) -> StatedReason:
    """Return the reason for a machine where capacity is kept for a restarting gang.

    ``name``: the gang's name; "" for a gang of another namespace.
    """
    gang = f"restarting gang {name}" if name else "a restarting gang of another namespace"
    return by_limit(f"node(s) kept room for {gang} until {until}")


BY_FURTHER_ROOM = by_limit("node(s) kept room for further restarting gangs")
"""The reason for machines where capacity is kept for gangs that are too many to be named."""


def by_task(words: str) -> StatedReason:
    """Return the reason for a task that every machine refuses, whichever tasks are on it."""
    return StatedReason(words, Stage.NAMED, cured_by=CuredBy.CHANGE, of_task=True)


class Cause(NamedTuple):
    """A reason, and what the reason is about: a resource or a taint; "" for nothing."""

    reason: AnyReason
    detail: str = ""

    @property
    def curable(self) -> bool:
        """Whether evicting others may help, according to kube-scheduler's status of the filter."""
        return self.reason.severity is Severity.UNSCHEDULABLE

    @property
    def summary(self) -> str:
        """The text for counts over machines, for which details may differ: only lacking resources are named."""
        return self.words if self.reason is Reason.INSUFFICIENT else self.reason.text

    @property
    def words(self) -> str:
        """The text of the reason for one machine, with the detail."""
        return f"{self.reason.value} {self.detail}" if self.detail else self.reason.value


def lacks_only_room(causes: Sequence[Cause]) -> bool:
    """Return whether a machine refuses a task only because of resources."""
    return all(cause.reason.cured_by is CuredBy.ROOM for cause in causes)


def lack_of(resource: str) -> Cause:
    """Return the cause for which a machine without enough of a resource is refused.

    The prefix of a resource says whether it stands for attached or unclaimed volumes.
    """
    if resource == PODS:
        return Cause(Reason.TOO_MANY)
    if resource.startswith("attachable-volumes-"):
        return Cause(Reason.TOO_MANY_VOLUMES)
    if resource.startswith("available-volumes-"):
        return Cause(Reason.NO_VOLUME_LEFT)
    return Cause(Reason.INSUFFICIENT, resource)


def explain_untolerated(taint: Taint) -> Cause:
    """Return the cause for which a machine with a taint is refused to tasks that do not tolerate it."""
    return Cause(Reason.UNTOLERATED, f"{{{taint.key}: {taint.value}}}")


_OF_VOLUMES = {
    reason.value: reason
    for reason in Reason
    if reason.stage in (Stage.IN_USE, Stage.ATTACHMENTS, Stage.VOLUMES, Stage.FEATURES)
}


def of_volume(words: str, *, in_use: bool) -> AnyReason:
    """Return the reason for machines that a volume does not admit.

    ``words``: a text from the bridge; "" stands for the usual reason. ``in_use``: another task now has exclusive use
    of the volume.
    """
    known = _OF_VOLUMES.get(words or Reason.WRONG_VOLUMES.value)
    stage = Stage.IN_USE if in_use else Stage.VOLUMES
    if known is not None and known.stage in (stage, Stage.FEATURES):
        return known
    severity, cured_by = (_CURABLE, CuredBy.OTHERS) if in_use else (_FINAL, CuredBy.CHANGE)
    return StatedReason(words or Reason.WRONG_VOLUMES.value, stage, severity, cured_by)


# --- Parts of sentences for people.


def order_reasons(counts: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return reasons in kube-scheduler's order: sorted as texts that begin with the number, so 10 comes before 2."""
    return sorted(counts, key=lambda item: f"{item[1]} {item[0]}")


def format_number(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 node``, ``12 nodes``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
