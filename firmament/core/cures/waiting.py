"""Who waits, by what drivers have said, and what would give them places: one answer for each class, or gang."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from firmament.core.cures.cure import Cure, Kind, Step
from firmament.core.cures.search import cures_for
from firmament.core.events import Event, JobDefined, TasksSubmitted
from firmament.core.rescheduling.room import GangRoom, gang_room_for
from firmament.core.rescheduling.trials import Trials


class Waiting:
    """``events`` describe a cluster; ``trials`` know it, and no task that waits."""

    def __init__(self, trials: Trials, events: Sequence[Event]) -> None:
        self._trials = trials
        self._submitted = [each for each in events if isinstance(each, TasksSubmitted)]
        self._gangs = {
            each.job.id for each in events if isinstance(each, JobDefined) and each.job.min_members > 1
        }

    def cures(self, uids: Collection[str], *, tries: int, most: int) -> dict[str, tuple[Cure, ...]]:
        """Return what would let tasks have a place, each by itself, after at most so many ``tries`` for each class.

        Gangs have at most one cure, moves of others after which all that wait of it have places; else ``most``.
        """
        found: dict[str, tuple[Cure, ...]] = {}
        for together in self._kinds([uid for each in self._submitted for uid in each.uids if uid in uids]):
            waiting = [uid for each in together for uid in each.uids if uid in uids]
            if together[0].job in self._gangs:
                found |= _of_gang(gang_room_for(self._trials, together, tries), waiting)
            else:
                cures = cures_for(self._trials, _single(together[0], waiting[0]), tries=tries, most=most)
                found |= dict.fromkeys(waiting, cures)
        return found

    def room(self, uids: Sequence[str], tries: int) -> GangRoom | None:
        """Return the moves that give one of the tasks a place, or the gang of one; of the first that is helped."""
        for together in self._kinds(uids):
            first = next(uid for uid in uids if any(uid in each.uids for each in together))
            gang = together if together[0].job in self._gangs else [_single(together[0], first)]
            found = gang_room_for(self._trials, gang, tries)
            if found is not None:
                return found
        return None

    def _kinds(self, uids: Sequence[str]) -> Iterator[list[TasksSubmitted]]:
        """Yield for each class of the tasks what was submitted of it, and for each gang; in the order of the tasks."""
        event_of = {uid: each for each in self._submitted for uid in each.uids}
        seen: set[str | int] = set()
        for event in (event_of[uid] for uid in uids if uid in event_of):
            kind = event.job if event.job in self._gangs else event.task_class
            if kind in seen:
                continue
            seen.add(kind)
            yield [
                replace(each, names=(), created=())
                for each in self._submitted
                if (each.job == kind if event.job in self._gangs else each.task_class == kind)
                and (each.job in self._gangs) == (event.job in self._gangs)
            ]


def _single(event: TasksSubmitted, uid: str) -> TasksSubmitted:
    return replace(event, uids=(uid,), names=(), created=(), job="")


def _of_gang(room: GangRoom | None, waiting: Sequence[str]) -> dict[str, tuple[Cure, ...]]:
    if room is None or not room.moves:
        return {}
    step = Step(Kind.MOVES, after=len(room.places))
    return {uid: (Cure((step,), room.places[uid], room.moves),) for uid in waiting}
