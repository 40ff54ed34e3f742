"""Proposes cures for each cause that keeps a task waiting: changes after which the task might have a place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from firmament.core.changes import ChangedMachine, CureChange, CureKind, CureProposal, TrialChange
from firmament.core.reasons import Cause
from firmament.core.rules.registry import NodeRules, drop_constraints
from firmament.core.selectors.label_columns import HOSTNAME


@dataclass(frozen=True, slots=True)
class Cure:
    """A change after which a waiting task gets a place: after ``steps`` it gets ``machine``, as rounds have shown.

    ``moves``: moves of other tasks, uid -> machine. ``rival``: another waiting task that would get the place first,
    "" if none. ``together``: how many waiting tasks, including this one, have places after the cure; 0 if the cure
    was tried for the task alone.
    """

    steps: tuple[CureChange, ...]
    machine: str
    moves: Mapping[str, str] = field(default_factory=dict)
    rival: str = ""
    together: int = 0


def propose_for_cause(rules: NodeRules, standing: ChangedMachine, cause: Cause) -> Iterator[CureProposal]:
    """Yield possible changes of a task, or of a machine that refuses it for a cause, the smallest change first."""
    rule = rules.rule_of(cause.reason)
    own = None if rule is None else rule.cures(standing)
    yield from drop_constraints(standing) if own is None else own


def propose_new_machine(rules: NodeRules, standing: ChangedMachine, suffix: str = "") -> CureProposal:
    """Return the proposal to add an empty machine with the labels and capacity of the one in ``standing``."""
    like = standing.machine
    name = f"{like.name}-more{suffix}"
    labels = {**like.labels, HOSTNAME: name} if HOSTNAME in like.labels else dict(like.labels)
    machine = replace(rules.as_new(like), name=name, labels=labels)
    step = CureChange(CureKind.ADD_MACHINE, machine=like.name)
    return CureProposal((step,), TrialChange(standing.content, machine))
