"""Finds cures for all waiting tasks of a gang or class: smaller requests, wider rules, more machines, fewer tasks.

Rounds try each change with all waiting tasks of the gang at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from cost_models.interface import Int64
from firmament.core.changes import ChangedMachine, CureChange, CureKind, CureProposal
from firmament.core.cures.proposals import Cure, propose_for_cause, propose_new_machine
from firmament.core.events import TasksSubmitted
from firmament.core.label_levels import LabelLevels
from firmament.core.model import PODS, Job, Machine
from firmament.core.reasons import Cause, lacks_only_room
from firmament.core.rescheduling.room_by_moves import count_slots
from firmament.core.rescheduling.trials import TogetherChange, Trials
from firmament.core.rules.gangs.members import shrink
from firmament.core.rules.registry import drop_constraints

_MOST_ADDED = 100
"""Most machines that a cure adds."""

_FEWER_TRIES = 4

_WIDER = (CureKind.CORRECT, CureKind.TOLERATE, CureKind.WIDEN, CureKind.DROP)
"""The kinds of changes that loosen which machines tasks may use, the smallest change first."""


def cures_together(
    trials: Trials,
    waiting: Sequence[TasksSubmitted],
    job: Job | None,
    tries: int,
    others: Sequence[TasksSubmitted] = (),
) -> Iterator[Cure]:
    """Yield changes after which all ``waiting`` tasks of a gang would get places; at most one change of each kind.

    If the tasks are not all of one class, the function finds no cures. ``job``: their gang; ``others``: the other
    waiting tasks; ``tries``: most changes that are tried.
    """
    if len({each.task_class for each in waiting}) != 1:
        return
    search = _TogetherSearch(trials, waiting, job, tries, others)
    wider = (search.wider(kind) for kind in _WIDER)
    for proposed in (search.smaller(), *wider, search.fewer(), search.more_machines()):
        cure = next(proposed, None)
        if cure is not None:
            yield cure


class _TogetherSearch:
    def __init__(
        self,
        trials: Trials,
        waiting: Sequence[TasksSubmitted],
        job: Job | None,
        tries: int,
        others: Sequence[TasksSubmitted],
    ) -> None:
        self._others = others
        self._trials, self._waiting, self._job, self._left = trials, waiting, job, tries
        self._uids = [uid for each in waiting for uid in each.uids]
        self._class = waiting[0].task_class
        self._member = trials.requests_of(self._class)
        self._refusals = trials.refusals(
            replace(waiting[0], uids=self._uids[:1], names=(), created=(), job="")  # type: ignore[arg-type]
        )
        self._usable = [name for name in trials.machines if lacks_only_room(self._refusals.get(name, ()))]
        self._proposed: dict[tuple[CureChange, ...], CureProposal] | None = None

    def smaller(self) -> Iterator[Cure]:
        """Yield the smallest reduction of the request for one resource, or else of all in equal proportion."""
        columns = [
            column
            for column in np.flatnonzero(self._member > 0).tolist()
            if self._trials.resources[column] != PODS
        ]
        if self._slots(self._member) >= len(self._uids):
            return
        for column in columns:
            yield from self._smaller([column])
        if len(columns) > 1:
            yield from self._smaller(columns)

    def _smaller(self, columns: Sequence[int]) -> Iterator[Cure]:
        largest = int(self._member[columns].max())
        low = self._most(lambda amount: self._shrink(columns, amount, largest), largest)
        member = self._shrink(columns, low, largest)
        for column in columns if len(columns) > 1 else ():
            own = int(self._member[column])
            member[column] = self._most(partial(_set_amount, member, column), own + 1)
        if (member[columns] <= 0).any():
            return
        content = self._trials.content_of(self._waiting[0])
        asked = {self._trials.resources[column]: int(member[column]) for column in columns}
        requests = tuple((key, asked.get(key, amount)) for key, amount in content.requests)
        steps = tuple(
            CureChange(CureKind.LOWER_REQUEST, key, before=amount, after=asked[key])
            for key, amount in content.requests
            if key in asked and asked[key] < amount
        )
        change = TogetherChange(content=replace(content, requests=requests))
        yield from self._try(steps, change)

    def _most(self, member_of: Callable[[int], Int64], beyond: int) -> int:
        """Return the largest amount below ``beyond`` with which machines can take all tasks by number.

        0 if no amount suffices.
        """
        low, high = 0, beyond
        while high - low > 1:
            middle = (low + high) // 2
            if self._slots(member_of(middle)) >= len(self._uids):
                low = middle
            else:
                high = middle
        return low

    def _shrink(self, columns: Sequence[int], amount: int, of: int) -> Int64:
        member = self._member.copy()
        for column in columns:
            member[column] = int(member[column]) * amount // of
        return member

    def wider(self, kind: CureKind) -> Iterator[Cure]:
        """Yield cures that let the tasks use more machines by one change of the gang's constraints."""
        if self._proposed is None:
            self._proposed = self._wider_rules()
        for steps, proposal in self._proposed.items():
            if steps[0].kind is kind:
                yield from self._try(steps, TogetherChange(content=proposal.change.content))

    def _wider_rules(self) -> dict[tuple[CureChange, ...], CureProposal]:
        """Return proposals that change only the tasks.

        The proposals answer the reasons of single machines and of rules between the tasks.
        """
        trials, content = self._trials, self._trials.content_of(self._waiting[0])
        machine_of: dict[tuple[Cause, ...], Machine] = {}
        for name in trials.machines:
            machine = trials.machine(name)
            machine_of.setdefault(self._refusals.get(name, ()), machine)
        levels = LabelLevels(trials.machine(name).labels for name in trials.machines)
        found: dict[tuple[CureChange, ...], CureProposal] = {}
        for causes, machine in machine_of.items():
            standing = ChangedMachine(content, machine, {}, levels)
            if len(causes) == 1 and not lacks_only_room(causes):
                proposals = [
                    *propose_for_cause(trials.rules, standing, causes[0]),
                    *drop_constraints(standing),
                ]
            else:
                proposals = [*drop_constraints(standing)]
            for each in proposals:
                if not any(step.machine for step in each.steps):
                    found.setdefault(each.steps, each)
        return found

    def fewer(self) -> Iterator[Cure]:
        """Yield the largest smaller gang whose members would all have places."""
        wanted = len(self._uids)
        if self._job is None:
            return
        most = min(self._slots(self._member), wanted - 1)
        for count in range(most, max(0, most - _FEWER_TRIES), -1):
            smaller = shrink(self._job, wanted - count)
            change = TogetherChange(job=smaller, former=self._job, first=count)
            step = CureChange(CureKind.FEWER, before=wanted, after=count)
            yield from self._try((step,), change)

    def more_machines(self) -> Iterator[Cure]:
        """Yield how many more machines are enough; they are like the machine of which the fewest are needed."""
        lacking = len(self._uids) - self._slots(self._member)
        sizes = {name: count_slots(self._total(name), self._member) for name in self._usable}
        if lacking <= 0 or not any(sizes.values()):
            return
        like = max(sorted(sizes), key=lambda name: sizes[name])
        count = -(-lacking // sizes[like])
        if count > _MOST_ADDED:
            return
        change = TogetherChange(machines=tuple(self._copies(like, count)))
        step = CureChange(CureKind.ADD_MACHINE, machine=like, after=count)
        yield from self._try((step,), change)

    def _copies(self, like: str, count: int) -> Iterator[Machine]:
        content = self._trials.content_of(self._waiting[0])
        for number in range(1, count + 1):
            suffix = "" if number == 1 else f"-{number}"
            source = self._trials.machine(like)
            proposal = propose_new_machine(self._trials.rules, ChangedMachine(content, source, {}), suffix)
            if proposal.change.machine is not None:
                yield proposal.change.machine

    def _try(self, steps: tuple[CureChange, ...], change: TogetherChange) -> Iterator[Cure]:
        if self._left <= 0 or not steps:
            return
        self._left -= 1
        found = self._trials.find_places_of_all(self._waiting, change, self._others)
        if found is not None:
            uid = next(iter(found))
            yield Cure(steps, found[uid], together=len(found))

    def _slots(self, member: Int64) -> int:
        return sum(
            min(count_slots(self._trials.free_on(name), member), len(self._uids)) for name in self._usable
        )

    def _total(self, name: str) -> Int64:
        offered = self._trials.machine(name).allocatable
        return np.array([offered.get(key, 0) for key in self._trials.resources], dtype=np.int64)


def _set_amount(member: Int64, column: int, amount: int) -> Int64:
    """Return a copy of a request with another amount of one resource."""
    changed = member.copy()
    changed[column] = amount
    return changed
