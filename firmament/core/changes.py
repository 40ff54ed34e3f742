"""Changes to a task or a machine, and how they are told: what is tried for a task that waits.

Rules propose them for their own reasons to refuse machines; cures are the proposals that were tried and help.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from firmament.core.label_levels import LabelLevels
from firmament.core.model import Machine, TaskClass


class CureKind(Enum):
    """What is changed: the task, a machine, or the places of other tasks; cures are listed in this order."""

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
    FEWER = "fewer-replicas"
    ADD_MACHINE = "add-node"


class CureChange(NamedTuple):
    """One change. ``subject``: the resource, the key of a label or annotation, the taint, the constraint; ``machine``:
    which one is changed, or is like the one that is added; ``before``, ``after``: amounts, or values of a label or an
    annotation, None for none; of constraints that there may be several of, ``before`` says which, from 0 on, and
    ``after`` a wider limit, or the label that it goes by instead; of moves that make room for a gang, ``after`` says
    for how many of it. Of a selector that is corrected, both are labels: ``key=value``.
    """

    kind: CureKind
    subject: str = ""
    machine: str = ""
    before: int | str | None = None
    after: int | str | None = None


class TrialChange(NamedTuple):
    """A change that is tried for a waiting task: another content of its class, or a machine after the change; None:
    unchanged."""

    content: TaskClass | None = None
    machine: Machine | None = None


NO_CHANGE = TrialChange()


class CureProposal(NamedTuple):
    """A change, and how it is told."""

    steps: tuple[CureChange, ...]
    change: TrialChange


class ChangedMachine(NamedTuple):
    """A task's class and a machine as they would be. ``free``: what is left there, amount by resource; ``levels``: the
    labels of all machines.
    """

    content: TaskClass
    machine: Machine
    free: Mapping[str, int]
    levels: LabelLevels = LabelLevels(())
