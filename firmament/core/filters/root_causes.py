"""Finds the root cause for which each machine is refused: the first refusal in the order of kube-scheduler's filters.

If a filter of kube-scheduler names everything that is lacking (`Stage.RESOURCES`, `Stage.VOLUMES`), everything is
listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool
from firmament.core.reasons import AnyReason, Cause, Stage, order_reasons
from firmament.core.rules.framework.node_rule import MachineRefusal

Codes = NDArray[np.int16]

TELLING_ALL = frozenset({Stage.RESOURCES, Stage.VOLUMES})


@dataclass(frozen=True, slots=True)
class RootCauses:
    """Why each machine is refused.

    ``refusals``: sorted by stage. ``code``: int16[M], the index of the first refusal that applies to each machine, or
    -1.
    """

    refusals: tuple[MachineRefusal, ...]
    code: Codes

    def counts(self) -> list[tuple[str, int]]:
        """Return the number of machines per reason, in the order in which messages list the reasons."""
        as_root = np.bincount(self.code + 1, minlength=len(self.refusals) + 1)[1:]
        found: dict[str, int] = {}
        several: dict[str, Bool] = {}
        at_stage: dict[Stage, Bool] = {}
        for (cause, refused), count in zip(self.refusals, as_root.tolist(), strict=True):
            stage = cause.reason.stage
            if stage not in TELLING_ALL:
                if count:
                    found[cause.summary] = found.get(cause.summary, 0) + count
                continue
            if stage not in at_stage:
                at_stage[stage] = self.find_at_stage(stage)
            affected = refused & at_stage[stage]
            if affected.any():
                several[cause.summary] = affected | several.get(cause.summary, False)
                found.setdefault(cause.summary, 0)
        for summary, affected in several.items():
            found[summary] += int(affected.sum())
        return order_reasons(list(found.items()))

    def machines(self) -> dict[str, Bool]:
        """Return, by reason, the machines to which it applies: bool[M]; reasons without machines are left out."""
        found: dict[str, Bool] = {}
        for index, (cause, refused) in enumerate(self.refusals):
            root = self.code == index
            affected = (
                root
                if cause.reason.stage not in TELLING_ALL
                else refused & self.find_at_stage(cause.reason.stage)
            )
            if affected.any():
                found[cause.summary] = affected | found.get(cause.summary, False)
        return found

    def find_of_task(self) -> str:
        """Return the reason that refuses the task on every machine; "" if there is none."""
        return next((cause.summary for cause, _ in self.refusals if cause.reason.of_task), "")

    def find_refused(self) -> Bool:
        """Return which machines are refused for some reason: bool[M]."""
        return self.code >= 0

    def find_at_stage(self, stage: Stage) -> Bool:
        """Return the machines whose root cause is of ``stage``: bool[M]."""
        found = np.array(
            [*(cause.reason.stage == stage for cause, _ in self.refusals), False], dtype=np.bool_
        )
        return found[self.code]

    def curable(self) -> Bool:
        """Return the machines that an eviction may make acceptable, by their root causes: bool[M]."""
        curable = np.array([*(cause.curable for cause, _ in self.refusals), True], dtype=np.bool_)
        return curable[self.code]

    def list_causes(self, machine: int) -> tuple[Cause, ...]:
        """Return the reasons for which one machine is refused, without repeated words.

        Empty if the machine is not refused.
        """
        if self.code[machine] < 0:
            return ()
        root = self.refusals[self.code[machine]].cause
        if root.reason.stage not in TELLING_ALL:
            return (root,)
        same = (
            cause
            for cause, refused in self.refusals
            if cause.reason.stage == root.reason.stage and refused[machine]
        )
        return tuple({cause.words: cause for cause in same}.values())

    def drop_lack(self) -> RootCauses:
        """Return the root causes as if no resources were lacking."""
        return make_root_causes(
            len(self.code), [each for each in self.refusals if each.cause.reason.stage != Stage.RESOURCES]
        )


def make_root_causes(
    machines: int,
    refusals: Iterable[MachineRefusal],
    standing: tuple[Sequence[MachineRefusal], Codes] | None = None,
) -> RootCauses:
    """Return the root causes of ``machines`` machines; refusals of one stage keep the given order.

    ``standing``: further refusals (there may be hundreds), at most one per machine, which come before others of their
    stage; and int16[M], the index of each machine's refusal, -1 for none.
    """
    fixed, place = ((), None) if standing is None else standing
    ordered = sorted([*fixed, *refusals], key=_stage)
    code = np.full(machines, -1, dtype=np.int16)
    if place is None:
        for index, (_, refused) in reversed(list(enumerate(ordered))):
            code[refused] = index
        return RootCauses(tuple(ordered), code)
    index_of = {id(each): index for index, each in enumerate(ordered)}
    fixed_at = np.array([*(index_of[id(each)] for each in fixed), -1], dtype=np.int16)
    of_fixed = set(fixed_at.tolist())
    for index, (_, refused) in reversed(list(enumerate(ordered))):
        if index not in of_fixed:
            code[refused] = index
    first = fixed_at[place]
    code = np.where((first >= 0) & ((code < 0) | (first < code)), first, code)
    return RootCauses(tuple(ordered), code)


def _stage(refusal: MachineRefusal) -> Stage:
    return refusal.cause.reason.stage


def rule_refusals(found: Iterable[tuple[AnyReason, Bool]]) -> list[MachineRefusal]:
    """Return refusals by rules between tasks, in the order of `RuleState.refusals`."""
    return [MachineRefusal(Cause(reason), refused) for reason, refused in found]
