"""Which gangs had been whole before this process heard of them: a new bridge tells it from what it finds.

A gang that has been whole is never given up. One has been if

* its PodGroup says so: the phase that was written last means that enough pods had nodes at that time; or
* one of its pods has had a node for longer than the gang's time-out: had it not been whole by then, it would have been
  given up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from poseidon.kube.api.pod_groups import PodGroup
from poseidon.pod_groups.statuses import FAILED, FINISHED, RUNNING, SCHEDULED

if TYPE_CHECKING:
    from poseidon.pod_groups.groups import Group, Groups
    from poseidon.pod_groups.sources import Source

_WHOLE_PHASES = frozenset({SCHEDULED, RUNNING, FAILED, FINISHED})


class FormerWholeness:
    """Gathers what objects say, until ``take`` is called.

    ``timeout`` is how many seconds a gang may take to be whole that does not say so itself; ``wall`` tells seconds
    since the epoch.
    """

    def __init__(self, groups: Groups, timeout: float, wall: Callable[[], float]) -> None:
        self._groups = groups
        self._timeout = timeout
        self._wall = wall
        self._phases: dict[str, str] | None = {}

    def object_seen(self, uid: str, found: Source) -> None:
        """Take an object as it is now; nothing of it has been written by this process before ``take``."""
        if self._phases is not None and isinstance(found, PodGroup):
            self._phases[uid] = found.status.phase

    def take(self) -> list[str]:
        """Return the jobs of gangs that have been whole, once all objects and pods are known; later, none."""
        if self._phases is None:
            return []
        jobs = list(self._whole(self._phases, self._wall()))
        self._phases = None
        return jobs

    def _whole(self, phases: dict[str, str], now: float) -> Iterator[str]:
        for group in self._groups:
            demand, known = self._groups.demand(group), self._groups.source(group)
            if demand is None or demand.min_members <= 1:
                continue
            written = phases.get(known[0], "") if known is not None else ""
            if written in _WHOLE_PHASES or self._outlasted(group, demand.seconds, now):
                yield group.job.id

    def _outlasted(self, group: Group, seconds: float, now: float) -> bool:
        return now - group.first_placed > (seconds or self._timeout)
