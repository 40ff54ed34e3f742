"""Describes changes to a task or a machine that are tried for a waiting task, and their descriptions for people.

Rules propose changes for the reasons for which they refuse machines; cures are the proposals that trial rounds have
confirmed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from firmament.core.label_levels import LabelLevels
from firmament.core.model import Machine, TaskClass


class CureKind(Enum):
    """What a change concerns: the task, a machine, or the machines of other tasks.

    Cures are listed in the order of the kinds below.
    """

    CORRECT = "correct-selector"
    LOWER_REQUEST = "lower-request"
    FEWER_DEVICES = "fewer-devices"
    TOLERATE = "tolerate"
    LABEL_MACHINE = "label-node"
    ANNOTATE_MACHINE = "annotate-node"
    UNCORDON = "uncordon-node"
    WIDEN = "widen-rule"
    DROP = "drop-constraint"
    MOVES = "move-others"
    ENLARGE_MACHINE = "enlarge-node"
    ADD_DEVICES = "add-devices"
    FEWER = "fewer-replicas"
    ADD_MACHINE = "add-node"


class CureChange(NamedTuple):
    """One change, which is a step of a cure.

    ``subject``: the resource, the key of a label or annotation, the taint, or the constraint. ``machine``: the
    machine that is changed, or that an added machine resembles. ``before``, ``after``: amounts, or values of a label
    or an annotation; None stands for an absent one. If a task may have several constraints of this kind, ``before``
    is the index of the changed one, and ``after`` is a wider limit, or the label that the constraint uses instead. If
    moves let a gang fit, ``after`` is the number of its members that are placed. If the change adds devices,
    ``subject`` is a device that they resemble, and ``after`` is their number. If a cure corrects a selector, both
    fields are labels: ``key=value``.
    """

    kind: CureKind
    subject: str = ""
    machine: str = ""
    before: int | str | None = None
    after: int | str | None = None


class TrialChange(NamedTuple):
    """A change that is tried for a waiting task: new content of its class, or a new machine; None if unchanged.

    ``slices``: specs of further ResourceSlices, by name.
    """

    content: TaskClass | None = None
    machine: Machine | None = None
    slices: tuple[tuple[str, Mapping[str, Any]], ...] = ()


NO_CHANGE = TrialChange()


class CureProposal(NamedTuple):
    """A change that may give a waiting task a machine, and its steps as people read them."""

    steps: tuple[CureChange, ...]
    change: TrialChange


class ChangedMachine(NamedTuple):
    """A task's class and a machine, as they are after changes.

    ``free``: what the machine has left, amount by resource. ``levels``: the labels of all machines. ``list_slices()``
    returns the specs of those ResourceSlices that belong to this machine alone.
    """

    content: TaskClass
    machine: Machine
    free: Mapping[str, int]
    levels: LabelLevels = LabelLevels(())
    list_slices: Callable[[], Sequence[Mapping[str, Any]]] = tuple
