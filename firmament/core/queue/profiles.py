"""Chooses the profile of each round.

The models of a profile determine a round's network, and crowding is one figure per machine for all tasks. So a round is
for the tasks of one profile. Other tasks wait for a round of their own, which follows at once. The order of importance
still holds: no task is placed before a more important task that could be tried.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.model import TaskClass
from firmament.core.state.cluster import Cluster

BASE = ""
"""Name of the profile of all tasks that name none, or one that is not configured."""


class ProfileChoice:
    """Chooses the tasks of a round among those of several profiles.

    ``several``: whether any are configured; ``current``: profile of the last round; ``put_off``: number of tasks that
    it left out because of their profile.
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
        """Return the tasks among ``waiting`` (rows) that take part in the round that begins; at least one if any waits.

        These are tasks of one profile: that of the most important task or, if several profiles have such tasks, the one
        whose turn was longest ago. Of its tasks, those take part that are at least as important as any task of another
        profile. A gang goes with its most important member, and by that member's profile.
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
        """Return the classes of ``contents`` that are of the last round's profile."""
        current = self._number[self.current]
        return [each for each in contents if self._number.get(each.profile, self._number[BASE]) == current]

    def _number_profiles(self, waiting: Int64) -> Int64:
        """Return the number of each task's profile: int64[N]."""
        classes, places = np.unique(self._cluster.tasks.cls[waiting], return_inverse=True)
        known, base = self._cluster.classes.rows, self._number[BASE]
        by_class = [self._number.get(known[cls].content.profile, base) for cls in classes.tolist()]
        return np.array(by_class, dtype=np.int64)[places]

    def _let_gangs_agree(self, waiting: Int64, number: Int64, priority: Int64) -> None:
        """Give all members of a gang the profile and priority of its most important member, the first of equals."""
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
