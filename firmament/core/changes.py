"""Changes to a task or a machine that are tried for a waiting task, and their descriptions for people.

Rules propose changes for the reasons for which they refuse machines; cures are those proposals that have been tested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from firmament.core.label_levels import LabelLevels
from firmament.core.model import Machine, TaskClass


class CureKind(Enum):
    """The object of a change: the task, a machine, or the places of other tasks. Cures are listed in this order."""

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
    """One change, a step of a cure.

    ``subject``: the resource, the key of a label or annotation, the taint, or the constraint. ``machine``: the one that
    is changed, or that an added one is like. ``before``, ``after``: amounts, or values of a label or an annotation,
    None if there is none. If there may be several constraints of a kind, ``before`` is the number of this one, from 0,
    and ``after`` a wider limit, or the label that it uses instead. If moves make room for a gang, ``after`` is the
    number of members that get places. If devices are added, ``subject`` is one that they are like, ``after`` their
    number. If a selector is corrected, both are labels: ``key=value``.
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
    """A change that may give a waiting task a place, and its steps as people read them."""

    steps: tuple[CureChange, ...]
    change: TrialChange


class ChangedMachine(NamedTuple):
    """A task's class and a machine after changes.

    ``free``: what is left there, amount by resource; ``levels``: the labels of all machines; ``list_slices()``
    returns the specs of the ResourceSlices of this machine alone.
    """

    content: TaskClass
    machine: Machine
    free: Mapping[str, int]
    levels: LabelLevels = LabelLevels(())
    list_slices: Callable[[], Sequence[Mapping[str, Any]]] = tuple
