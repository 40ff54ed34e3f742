"""Finds cures for waiting tasks, per class or gang: runs a test round for each proposal that the reasons suggest.

A cure costs no other task anything: other waiting tasks keep the places that they get, and no task is evicted. A
change may also open a place that another waiting task, which has no cure of its own, takes. Cures that might give the
place to another task are returned only if no other change helps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

from firmament.core.changes import ChangedMachine, CureChange, CureKind, CureProposal, TrialChange
from firmament.core.cures.gang_cures import cures_together
from firmament.core.cures.group_tree_cures import cures_by_level
from firmament.core.cures.proposals import Cure, propose_for_cause, propose_new_machine
from firmament.core.events import Event, JobDefined, TasksSubmitted
from firmament.core.intake.events import select_task
from firmament.core.label_levels import LabelLevels
from firmament.core.reasons import Cause, lack_of, lacks_only_room
from firmament.core.rescheduling.room_by_moves import GangRoom, find_gang_room_by_moves, find_room_by_moves
from firmament.core.rescheduling.trials import Trials
from firmament.core.rules.node_resources import list_lacking_amounts

_ROOM = (lack_of(""),)
"""Stands for all sets of causes that concern only resources."""

_MACHINES = 3
"""Most machines that are examined for each set of causes: those that lack least."""

_STEPS = 3
"""Most changes in one cure, if no single change helps."""

_OF_A_KIND = 2
"""Most cures of one kind (see `CureKind`), so that people can choose between kinds."""


class CureFinder:
    """Finds changes that would give waiting tasks a place.

    ``events`` contain the waiting tasks; ``trials``: the cluster without them, on which test rounds are run.
    """

    def __init__(self, trials: Trials, events: Sequence[Event]) -> None:
        self._trials = trials
        self.submitted = [each for each in events if isinstance(each, TasksSubmitted) and each.uids]
        """The waiting tasks."""
        self._gangs = {
            each.job.id: each.job for each in events if isinstance(each, JobDefined) and each.job.is_gang
        }

    def cures(self, uids: Collection[str], *, tries: int, most: int) -> dict[str, tuple[Cure, ...]]:
        """Return what would give each of the tasks a place, after at most ``tries`` test rounds for each class.

        The cures of a gang are changes, or moves of other tasks, after which all its waiting tasks have places. For a
        task outside gangs, there are up to ``most`` cures for the task alone, and cures that help all waiting tasks
        of its class.
        """
        found: dict[str, tuple[Cure, ...]] = {}
        for together in self._kinds([uid for each in self.submitted for uid in each.uids if uid in uids]):
            waiting = [uid for each in together for uid in each.uids if uid in uids]
            gang = self._gangs.get(together[0].job)
            alone_cures: tuple[Cure, ...] = ()
            if gang is None:
                task, others = self._separate(waiting[0])
                alone_cures = cures_for(self._trials, task, tries=tries, most=most, others=others)
            every: list[Cure] = []
            if gang is not None or sum(len(each.uids) for each in together) > 1:
                mine = {uid for each in together for uid in each.uids}
                others = [each for each in self.submitted if mine.isdisjoint(each.uids)]
                every = list(cures_together(self._trials, together, gang, tries, others))
                if gang is not None and gang.groups:
                    every += cures_by_level(self._trials, together, gang, tries, others)
            by_moves = (
                {}
                if gang is None
                else _of_gang(find_gang_room_by_moves(self._trials, together, tries), waiting)
            )
            for uid in waiting:
                cures = (*alone_cures, *by_moves.get(uid, ()), *every)
                if cures:
                    found[uid] = cures
        return found

    def find_room(self, uids: Sequence[str], tries: int) -> GangRoom | None:
        """Return moves of other tasks after which one of the tasks, or its whole gang, has a place.

        The first task that moves can help decides; the result is None if moves help none of them.
        """
        for together in self._kinds(uids):
            first = next(uid for uid in uids if any(uid in each.uids for each in together))
            gang = together if together[0].job in self._gangs else [_select_task(together[0], first)]
            found = find_gang_room_by_moves(self._trials, gang, tries)
            if found is not None:
                return found
        return None

    def _separate(self, uid: str) -> tuple[TasksSubmitted, list[TasksSubmitted]]:
        """Return a task by itself, and all other waiting tasks."""
        own = next(each for each in self.submitted if uid in each.uids)
        index = own.uids.index(uid)
        others = [_drop_task(own, index) if each is own else each for each in self.submitted]
        return replace(select_task(own, index), job=""), [each for each in others if each.uids]

    def _kinds(self, uids: Sequence[str]) -> Iterator[list[TasksSubmitted]]:
        """Yield, for each class and each gang that the tasks belong to, all of its tasks that were submitted.

        The classes and gangs come in the order of the tasks.
        """
        event_of = {uid: each for each in self.submitted for uid in each.uids}
        seen: set[str | int] = set()
        for event in (event_of[uid] for uid in uids if uid in event_of):
            kind = event.job if event.job in self._gangs else event.task_class
            if kind in seen:
                continue
            seen.add(kind)
            yield [
                replace(each, names=(), created=())
                for each in self.submitted
                if (each.job == kind if event.job in self._gangs else each.task_class == kind)
                and (each.job in self._gangs) == (event.job in self._gangs)
            ]


def _drop_task(event: TasksSubmitted, index: int) -> TasksSubmitted:
    """Return the part of an event that is about all of its tasks except one."""
    uids, names, created = event.uids, event.names, event.created
    return replace(
        event,
        uids=(*uids[:index], *uids[index + 1 :]),
        names=(*names[:index], *names[index + 1 :]),
        created=(*created[:index], *created[index + 1 :]),
    )


def _select_task(event: TasksSubmitted, uid: str) -> TasksSubmitted:
    return replace(event, uids=(uid,), names=(), created=(), job="")


def _of_gang(room: GangRoom | None, waiting: Sequence[str]) -> dict[str, tuple[Cure, ...]]:
    if room is None or not room.moves:
        return {}
    step = CureChange(CureKind.MOVES, after=len(room.places))
    return {uid: (Cure((step,), room.places[uid], room.moves),) for uid in waiting}


def cures_for(
    trials: Trials, task: TasksSubmitted, *, tries: int, most: int, others: Sequence[TasksSubmitted] = ()
) -> tuple[Cure, ...]:
    """Return up to ``most`` cures of a waiting task (one uid, of no gang), after at most ``tries`` test rounds.

    The cures are ordered by kind, within a kind by size of the change. ``others``: all other waiting tasks. A cure
    that might give the place to one of ``others`` instead is returned only if there is no other cure.
    """
    return _CureSearch(trials, task, tries, others).find(most)


class _CureSearch:
    def __init__(
        self, trials: Trials, task: TasksSubmitted, tries: int, others: Sequence[TasksSubmitted]
    ) -> None:
        self._trials, self._task, self._left, self._others = trials, task, tries, others
        self._refusals = trials.refusals(task)
        self._levels = LabelLevels(trials.machine(name).labels for name in trials.machines)

    def find(self, most: int) -> tuple[Cure, ...]:
        cures: list[Cure] = []
        contested: list[Cure] = []
        proposals = self._propose()
        for kind in CureKind:
            known_steps: set[tuple[object, ...]] = set()
            proposed = (
                each for each in proposals.get(kind, ()) if _summarise_steps(each.steps) not in known_steps
            )
            tried = self._by_moves() if kind is CureKind.MOVES else map(self._try, proposed)
            enough = min(len(cures) + _OF_A_KIND, most)
            while len(cures) < enough and (cure := next(filter(None, tried), None)) is not None:
                (contested if cure.rival else cures).append(cure)
                if not cure.rival:
                    known_steps.add(_summarise_steps(cure.steps))
        if not cures and (repaired := self._repair()) is not None:
            (contested if repaired.rival else cures).append(repaired)
        return tuple(cures or contested[:most])

    def _by_moves(self) -> Iterator[Cure]:
        machines = [name for name, causes in self._refusals.items() if lacks_only_room(causes)]
        room = find_room_by_moves(self._trials, self._task, machines, self._left)
        if room is not None:
            yield Cure((CureChange(CureKind.MOVES),), room.machine, room.moves)

    def _try(self, proposal: CureProposal) -> Cure | None:
        if self._left <= 0:
            return None
        self._left -= 1
        machine = self._trials.place_with(self._task, proposal.change)
        if machine is None:
            return None
        if not self._others:
            return Cure(proposal.steps, machine)
        found = self._trials.find_places_until_placed(self._task, proposal.change, self._others)
        uid = self._task.uids[0]
        if uid in found:
            return Cure(proposal.steps, found[uid])
        rival = min((each for each, place in found.items() if place == machine), default="")
        return Cure(proposal.steps, machine, rival=rival) if rival else None

    def _propose(self) -> dict[CureKind, list[CureProposal]]:
        """Return proposals by kind, those with fewer steps first.

        For each cause, the proposals are for the machines that have no other cause and lack least.
        """
        found: dict[tuple[CureChange, ...], CureProposal] = {}
        for causes, machines in self._by_causes().items():
            about_room = lacks_only_room(causes)
            if len(causes) > 1 and not about_room:
                continue
            for name in self._nearest(machines):
                standing = self._standing(name)
                more = [propose_new_machine(self._trials.rules, standing)] if about_room else []
                for proposal in (*propose_for_cause(self._trials.rules, standing, causes[0]), *more):
                    found.setdefault(proposal.steps, proposal)
        by_kind: dict[CureKind, list[CureProposal]] = {}
        for proposal in sorted(found.values(), key=lambda each: len(each.steps)):
            by_kind.setdefault(proposal.steps[0].kind, []).append(proposal)
        return by_kind

    def _by_causes(self) -> dict[tuple[Cause, ...], list[str]]:
        """Return machines grouped by the causes for which they refuse the task.

        All machines that lack only resources have one key.
        """
        found: dict[tuple[Cause, ...], list[str]] = {}
        for machine, causes in self._refusals.items():
            found.setdefault(_ROOM if lacks_only_room(causes) else causes, []).append(machine)
        return found

    def _nearest(self, machines: Sequence[str]) -> list[str]:
        """Return the machines that lack the smallest part of a requested resource."""

        def shortage(name: str) -> float:
            lacks = list_lacking_amounts(self._standing(name)).values()
            return max(((asked - free) / asked for asked, free in lacks), default=0.0)

        return sorted(machines, key=lambda name: (shortage(name), name))[:_MACHINES]

    def _standing(self, machine: str, change: TrialChange | None = None) -> ChangedMachine:
        trials = self._trials
        known = trials.machine(machine)
        free = dict(zip(trials.resources, trials.free_on(machine).tolist(), strict=True))
        content = trials.content_of(self._task)
        slices = partial(trials.list_slices, machine)
        if change is None:
            return ChangedMachine(content, known, free, self._levels, slices)
        changed = known if change.machine is None else change.machine
        for resource, amount in changed.allocatable.items():
            free[resource] = free.get(resource, 0) + amount - known.allocatable.get(resource, 0)
        return ChangedMachine(
            content if change.content is None else change.content, changed, free, self._levels, slices
        )

    def _repair(self) -> Cure | None:
        """Return a cure that consists of several changes, made one after another until some machine takes the task."""
        for name in self._nearest(list(self._refusals)):
            steps: tuple[CureChange, ...] = ()
            change = TrialChange()
            for _ in range(_STEPS):
                if self._left <= 0:
                    return None
                self._left -= 1
                causes = self._trials.refusals(self._task, change).get(name, ())
                proposal = next(
                    (
                        each
                        for cause in causes
                        for each in propose_for_cause(self._trials.rules, self._standing(name, change), cause)
                    ),
                    None,
                )
                if proposal is None:
                    break
                steps, change = (*steps, *proposal.steps), _combine(change, proposal.change)
                cure = self._try(CureProposal(steps, change))
                if cure is not None:
                    return cure
        return None


def _summarise_steps(steps: Sequence[CureChange]) -> tuple[object, ...]:
    """Return a key that is equal for steps that differ only in the machine or the amount."""
    return tuple(
        (
            step.kind,
            step.subject,
            step.before if step.kind in (CureKind.DROP, CureKind.WIDEN) else _label(step.after),
        )
        for step in steps
    )


def _label(value: int | str | None) -> str:
    return value if isinstance(value, str) else ""


def _combine(before: TrialChange, after: TrialChange) -> TrialChange:
    """Return the combination of two changes, of which the later was made on top of the earlier."""
    machine = before.machine if after.machine is None else after.machine
    content = before.content if after.content is None else after.content
    return TrialChange(content, machine, (*before.slices, *after.slices))
