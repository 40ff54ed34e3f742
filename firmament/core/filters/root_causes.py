"""The root cause for which each machine is refused: refusals in kube-scheduler's order of filters, the first holds.

Where kube-scheduler's filter names all that is lacking (`Stage.RESOURCES`, `Stage.VOLUMES`), all of it is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Int64
from firmament.core.constraints.ruleset import (
    CLAIM_IN_USE,
    KEPT_OFF,
    NO_DISK,
    NO_DOMAIN,
    NOT_NEAR,
    PORTS_TAKEN,
    SKEWED,
    TOO_NEAR,
)
from firmament.core.filters import reasons

Codes = NDArray[np.int16]


class Stage(IntEnum):
    """When a filter has its turn. Models' filters, which kube-scheduler does not have, come after all of its own."""

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


_AFTER_SPREAD = {NOT_NEAR: 1, TOO_NEAR: 2, KEPT_OFF: 3}

TELLING_ALL = frozenset({Stage.RESOURCES, Stage.VOLUMES})


class Cause(NamedTuple):
    """Why machines are refused: ``text`` in kube-scheduler's words, ``detail``: what may follow it for people.

    ``curable``: evicting others may help, as far as kube-scheduler's status of the filter tells.
    """

    text: str
    stage: Stage = Stage.MODELS
    detail: str = ""
    curable: bool = False


_RULES = {
    PORTS_TAKEN: Cause(PORTS_TAKEN, Stage.PORTS, curable=True),
    NO_DISK: Cause(NO_DISK, Stage.IN_USE, curable=True),
    CLAIM_IN_USE: Cause(CLAIM_IN_USE, Stage.IN_USE, curable=True),
    SKEWED: Cause(SKEWED, Stage.RULES, curable=True),
    NO_DOMAIN: Cause(NO_DOMAIN, Stage.RULES),
    NOT_NEAR: Cause(NOT_NEAR, Stage.RULES),
    TOO_NEAR: Cause(TOO_NEAR, Stage.RULES, curable=True),
    KEPT_OFF: Cause(KEPT_OFF, Stage.RULES, curable=True),
}


class MachineRefusal(NamedTuple):
    """The machines to which a cause applies: bool[M]."""

    cause: Cause
    refused: Bool


@dataclass(frozen=True, slots=True)
class RootCauses:
    """``refusals`` in order of stages; ``code``: int16[M], the first that applies to each machine, -1 for none."""

    refusals: tuple[MachineRefusal, ...]
    code: Codes

    def counts(self) -> list[tuple[str, int]]:
        """Machines per reason, in the order in which reasons are told."""
        return reasons.ordered([(text, int(told.sum())) for text, told in self.machines().items()])

    def machines(self) -> dict[str, Bool]:
        """bool[M] by reason: the machines of which it is told; a reason that none bears is left out."""
        found: dict[str, Bool] = {}
        for index, (cause, refused) in enumerate(self.refusals):
            root = self.code == index
            told = root if cause.stage not in TELLING_ALL else refused & self.at(cause.stage)
            if told.any():
                found[cause.text] = told | found.get(cause.text, False)
        return found

    def refused(self) -> Bool:
        """bool[M]: machines that something refuses."""
        return self.code >= 0

    def at(self, stage: Stage) -> Bool:
        """bool[M]: machines whose root cause is of a stage."""
        found = [index for index, (cause, _) in enumerate(self.refusals) if cause.stage == stage]
        return np.isin(self.code, found)

    def curable(self) -> Bool:
        """bool[M]: machines that evictions may open, as far as their root cause tells; all that nothing refuses."""
        curable = np.array([*(cause.curable for cause, _ in self.refusals), True], dtype=np.bool_)
        return curable[self.code]

    def told(self, machine: int) -> tuple[str, ...]:
        """What one machine is refused for, details included; nothing if it is not."""
        if self.code[machine] < 0:
            return ()
        root = self.refusals[self.code[machine]].cause
        if root.stage not in TELLING_ALL:
            return (_with_detail(root),)
        same = [cause for cause, refused in self.refusals if cause.stage == root.stage and refused[machine]]
        return tuple(dict.fromkeys(map(_with_detail, same)))

    def without_lack(self) -> RootCauses:
        """The same if nothing were lacking: what keeps a task off beside resources."""
        return root_causes(
            len(self.code), [each for each in self.refusals if each.cause.stage != Stage.RESOURCES]
        )


def root_causes(machines: int, refusals: Iterable[MachineRefusal]) -> RootCauses:
    """Put refusals of ``machines`` machines in order; those of one stage stay as they are given."""
    told = sorted(refusals, key=lambda each: each.cause.stage)
    code = np.full(machines, -1, dtype=np.int16)
    for index, (_, refused) in reversed(list(enumerate(told))):
        code[refused] = index
    return RootCauses(tuple(told), code)


def rule_refusals(told: Iterable[tuple[str, Bool]]) -> list[MachineRefusal]:
    """Refusals by the rules between tasks, as `RuleState.refusals` tells them; those of one kind stay as given."""
    found = [MachineRefusal(_RULES.get(text, Cause(text, curable=True)), refused) for text, refused in told]
    return sorted(found, key=lambda each: _AFTER_SPREAD.get(each.cause.text, 0))


def lacks(free: Int64, request: Int64, resources: Sequence[str]) -> list[MachineRefusal]:
    """A refusal per resource of which some machine has not enough left: ``free`` int64[M, K], ``request`` int64[K]."""
    found = []
    for column in np.flatnonzero(request > 0).tolist():
        lacking = free[:, column] < request[column]
        if lacking.any():
            found.append(MachineRefusal(lack_of(resources[column]), lacking))
    return found


def lack_of(resource: str) -> Cause:
    """Why a machine without enough of a resource is refused."""
    text = reasons.insufficient(resource)
    if text == reasons.TOO_MANY_VOLUMES:
        return Cause(text, Stage.ATTACHMENTS, curable=True)
    if text == reasons.NO_VOLUME_LEFT:
        return Cause(text, Stage.VOLUMES)
    return Cause(text, Stage.RESOURCES, curable=True)


def _with_detail(cause: Cause) -> str:
    return f"{cause.text} {cause.detail}" if cause.detail else cause.text
