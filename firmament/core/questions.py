"""Answers questions about a cluster and its tasks, without changing anything on which decisions depend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from cost_models.interface import Bool
from firmament.core.diagnosis.explain import explain
from firmament.core.diagnosis.task_and_machine_states import (
    BoundTask,
    Measured,
    find_open,
    get_bound_task,
    get_measured,
    iter_broken_rules,
    machine_states,
    task_states,
)
from firmament.core.intake.cluster_events import ClusterEvents, list_events
from firmament.core.profiles import Profiles
from firmament.core.queue.profile_turns import BASE
from firmament.core.results import BrokenRule, Explanation, MachineState, TaskState
from firmament.core.round_flow.assembly import ClassWords, class_words
from firmament.core.rules.registry import NodeRules
from firmament.core.snapshot.grouping import RoundContext
from firmament.core.snapshot.running_as_waiting import RunningSnapshot, snapshot_of_running
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase


class UnknownTaskError(KeyError):
    """No task with this uid is known."""


class ClusterQuestions:
    """The questions that a caller may ask about one cluster; ``Scheduler`` inherits them."""

    _cluster: Cluster
    _profiles: Profiles
    _clock: Callable[[], float]

    def explain(self, uid: str) -> Explanation:
        """Return whether a task may use each machine, and what models charge there; raise ``UnknownTaskError``."""
        if uid not in self._cluster.tasks.row_of:
            raise UnknownTaskError(uid)
        return explain(self._find_context(uid), uid, self._clock())

    def divide_by_profile(self, uids: Iterable[str]) -> list[list[str]]:
        """Return those of the tasks that are known, divided by profile, as ``snapshot_of_running`` takes them."""
        tasks = self._cluster.tasks
        rows = [tasks.row_of[uid] for uid in uids if uid in tasks.row_of]
        return [[tasks.uid[row] for row in each] for each in self._profiles.divide(self._cluster, rows)]

    def snapshot_of_running(self, uids: Sequence[str], *, stay: bool = False) -> RunningSnapshot | None:
        """Return the problem of placing bound tasks again, all at once; None if none is bound to a known machine.

        ``uids``: tasks of one profile. ``stay``: whether to return the problem of placing further tasks like the
        running ones.
        """
        known = [uid for uid in uids if uid in self._cluster.tasks.row_of]
        if not known:
            return None
        return snapshot_of_running(self._find_context(known[0]), known, self._clock(), stay=stay)

    def get_bound_task(self, uid: str) -> BoundTask:
        """Return what a driver would report about a bound task; raise ``UnknownTaskError`` if there is no such task."""
        if uid not in self._cluster.tasks.row_of:
            raise UnknownTaskError(uid)
        return get_bound_task(self._cluster, uid)

    def get_measured(self) -> Measured:
        """Return the last reports of the use of machines and tasks."""
        return get_measured(self._cluster)

    def divide_by_devices(self, uids: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return those of the tasks that are known, in two groups.

        The first part has the tasks for which a cost model of their profile judges which devices machines have left;
        the second part has all others.
        """
        tasks = self._cluster.tasks
        found: tuple[list[str], list[str]] = ([], [])
        for uid in uids:
            if uid in tasks.row_of:
                profile = self._profiles.find_profile(self._cluster, tasks.row_of[uid])
                found[not profile.context.configuration.needs.devices].append(uid)
        return found

    @property
    def rules(self) -> NodeRules:
        """The rules about machines that are configured."""
        return self._profiles[BASE].context.configuration.rules

    def find_open_machines(self, uids: Sequence[str], machines: Sequence[str]) -> list[Bool]:
        """Return, for each task, on which of the machines the rules about machines would let it run.

        See ``find_open``.
        """
        return find_open(self._profiles[BASE].context, uids, machines)

    def iter_broken_rules(self) -> Iterator[BrokenRule]:
        """Yield the tasks that run on machines which the rules about machines refuse to them now."""
        return iter_broken_rules(self._profiles[BASE].context)

    def task_states(self) -> Iterator[TaskState]:
        """Return all tasks, in order of uid."""
        return task_states(self._cluster, self._clock())

    def machine_states(self) -> Iterator[MachineState]:
        """Return all machines, in order of name."""
        return machine_states(self._cluster)

    def count_assumed(self) -> int:
        """Return how many placed tasks have no report on their binding yet."""
        tasks = self._cluster.tasks
        return int(np.count_nonzero(tasks.state[: len(tasks.uid)] == int(TaskPhase.ASSUMED)))

    def knows(self, uid: str) -> bool:
        """Return whether a task with this uid exists."""
        return uid in self._cluster.tasks.row_of

    def list_assumed(self) -> set[str]:
        """Return the uids of the tasks that have been placed without a report on their binding yet."""
        tasks = self._cluster.tasks
        return {tasks.uid[row] for row in tasks.in_state(TaskPhase.ASSUMED).tolist()}

    def list_events(self) -> ClusterEvents:
        """Return the events by which a trial learns the cluster, see ``intake.cluster_events``."""
        return list_events(self._cluster)

    def class_words(self, uids: Sequence[str]) -> list[ClassWords]:
        """Return the names of these tasks' classes; a task that has ended is named by its uid."""
        return class_words(self._cluster, uids)

    def _find_context(self, uid: str) -> RoundContext:
        """Return the context with which a round of a known task begins."""
        return self._profiles.find_profile(self._cluster, self._cluster.tasks.row_of[uid]).context
