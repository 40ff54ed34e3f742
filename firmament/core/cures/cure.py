"""What a cure is: one or more changes after which a task that waits has a place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """What is changed: the task, a machine, or where others run; cures are told in this order."""

    LOWER_REQUEST = "lower-request"
    TOLERATE = "tolerate"
    LABEL_MACHINE = "label-node"
    UNCORDON = "uncordon-node"
    DROP = "drop-constraint"
    MOVES = "move-others"
    ENLARGE_MACHINE = "enlarge-node"
    ADD_MACHINE = "add-node"


class Step(NamedTuple):
    """One change. ``subject``: the resource, the label's key, the taint, the constraint; ``machine``: which one is
    changed, or is like the one that is added; ``before``, ``after``: amounts, or values of a label, None for none; of
    constraints that there may be several of, ``before`` says which, from 0 on; of moves that make room for a gang,
    ``after`` says for how many of it.
    """

    kind: Kind
    subject: str = ""
    machine: str = ""
    before: int | str | None = None
    after: int | str | None = None


@dataclass(frozen=True, slots=True)
class Cure:
    """After ``steps`` the task gets ``machine``; tried by rounds. ``moves``: of others, uid -> machine."""

    steps: tuple[Step, ...]
    machine: str
    moves: Mapping[str, str] = field(default_factory=dict)
