"""Chooses the profile of each round, that is, the policy and weights by which it scores classes.

The cost models of a profile determine the network of a round, and crowding is one figure per machine for all tasks.
All tasks of a round therefore have the same profile. Tasks of other profiles wait for a round of their own, which
follows at once. The order of importance still holds: no task is placed before a more important task that could be
tried.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.model import TaskClass
from firmament.core.state.cluster import Cluster

BASE = ""
"""Name of the profile of all tasks that name no profile, or one that is not configured."""


class ProfileChoice:
    """Chooses the tasks of a round if tasks of several profiles wait.

    ``several``: whether any profiles are configured. ``current``: the profile of the last round. ``put_off``: how
    many tasks the last round left out because of their profile.
    """

    def __init__(self, cluster: Cluster, names: Collection[str]) -> None:
        """``names``: the profiles that are configured in addition to `BASE`."""
        self._cluster = cluster
        self.several = bool(names)
        self._names = (BASE, *sorted(names))
        self._number = {name: number for number, name in enumerate(self._names)}
        self._served = np.zeros(len(self._names), dtype=np.int64)
        self._rounds = 0
        self.current = BASE
        self.put_off = 0

    def choose_profile(self, waiting: Int64) -> Int64:
        """Return those of the tasks ``waiting`` (rows) that take part in the round; at least one if any waits.

        All tasks chosen have the profile of the most important task. If several profiles have tasks of this
        importance, the round is for the profile whose turn was longest ago. Those tasks of the chosen profile take
        part that are at least as important as any task of another profile. All members of a gang count with the
        importance and profile of its most important member.
        """
        self.put_off = 0
        if not len(waiting):
            return waiting
        number, priority = self._number_profiles(waiting), self._cluster.tasks.priority[waiting]
        self._let_gangs_agree(waiting, number, priority)
        foremost = np.unique(number[priority == priority.max()])
        chosen = int(foremost[np.argmin(self._served[foremost])])
        takes = number == chosen
        if not takes.all():
            takes &= priority >= priority[~takes].max()
        self._rounds += 1
        self._served[chosen] = self._rounds
        self.current = self._names[chosen]
        self.put_off = int(np.count_nonzero(~takes))
        return waiting[takes] if self.put_off else waiting

    def list_classes_of_last_profile(self, contents: Sequence[TaskClass]) -> list[TaskClass]:
        """Return those classes of ``contents`` that have the last round's profile."""
        current = self._number[self.current]
        return [each for each in contents if self._number.get(each.profile, self._number[BASE]) == current]

    def _number_profiles(self, waiting: Int64) -> Int64:
        """Return the number of each task's profile: int64[N]."""
        classes, places = np.unique(self._cluster.tasks.cls[waiting], return_inverse=True)
        known, base = self._cluster.classes.rows, self._number[BASE]
        by_class = [self._number.get(known[cls].content.profile, base) for cls in classes.tolist()]
        return np.array(by_class, dtype=np.int64)[places]

    def _let_gangs_agree(self, waiting: Int64, number: Int64, priority: Int64) -> None:
        """Give all members of a gang the profile and priority of its most important member, the first among equals."""
        tasks, gangs = self._cluster.tasks, self._cluster.jobs.gangs
        if not gangs:
            return
        members: dict[str, list[int]] = {}
        for place, row in enumerate(waiting.tolist()):
            if tasks.job[row] in gangs:
                members.setdefault(tasks.job[row], []).append(place)
        for places in members.values():
            leads = min(places, key=lambda place: (-priority[place], tasks.sequence[waiting[place]]))
            number[places], priority[places] = number[leads], priority[leads]
