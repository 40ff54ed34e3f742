"""Applies gangs to the bridge's pods: assigns jobs, and holds pods that must wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from poseidon.bridge.groups.gang_events import GangEvents
from poseidon.bridge.groups.group_conditions import GroupConditions
from poseidon.bridge.groups.topology_reports import TopologyRecords
from poseidon.bridge.groups.tree_groups import TopologyGroups
from poseidon.group_trees.spec.trees import TreeArguments
from poseidon.kube.api.other_projects.app_network import ConfigMap
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.kube.quarantine import Quarantine
from poseidon.lifecycle.actions import Action
from poseidon.lifecycle.failed_scheduling_timing import PendingReasons
from poseidon.lifecycle.jobs import Jobs
from poseidon.lifecycle.placements import Placements
from poseidon.lifecycle.pod_records import PodRecords
from poseidon.nodes.machines import Machines
from poseidon.pod_groups.demands import Source
from poseidon.pod_groups.group import Group
from poseidon.pod_groups.groups import GroupChange, Groups
from poseidon.pod_groups.statuses import GangsCompleteBeforeRestart, PodGroupStatuses
from poseidon.pods.classes import ClassTable
from poseidon.pods.tasks import Task
from protos.configuration.shared_sections import GangSection
from protos.firmament.v1 import scheduler_pb2 as pb


class GangAssigner:
    """The assignment of each task to its gang's job, with the task's rank and the reason why it waits.

    ``wall`` returns seconds since the epoch. ``arguments`` and ``records`` are passed to ``topology``, which handles
    topology groups: see ``TopologyGroups``. The writes to carry out are added to ``actions``. ``wanted_kinds`` are the
    kinds of owners whose pods, all or some of them, form a gang.
    """

    def __init__(
        self,
        groups: Groups,
        tasks: PodRecords,
        jobs: Jobs,
        placements: Placements,
        pending_reasons: PendingReasons,
        machines: Machines,
        classes: ClassTable,
        records: TopologyRecords,
        actions: list[Action],
        wall: Callable[[], float],
        options: GangSection,
        arguments: TreeArguments,
        quarantine: Quarantine,
    ) -> None:
        self._quarantine = quarantine
        self._tasks = tasks
        self._jobs = jobs
        self._placements = placements
        self._pending_reasons = pending_reasons
        self._machines = machines
        self._classes = classes
        self._actions = actions
        self.groups = groups
        """The members and the requirements of each group."""
        self._statuses = PodGroupStatuses(groups, wall, quarantine)
        self._conditions = GroupConditions(wall)
        self._former = GangsCompleteBeforeRestart(groups, options.timeout, wall)
        self._events = GangEvents(groups, tasks, machines, actions)
        self.topology = TopologyGroups(groups, arguments, wall, tasks.get_name, records, actions, quarantine)
        self.wanted_kinds: set[str] = set()
        self.retake: Callable[[Iterable[tuple[str, Pod]]], None] = lambda _: None
        """Function that translates pods again whose group has changed because an object has changed."""

    def begin(self) -> None:
        """Begin to decide about groups.

        Call this method once all objects and pods are known, including what an earlier bridge decided.
        """
        for job in self._former.take_jobs():
            self._jobs.set_been_whole(job, was_whole=True)
        self.topology.begin()

    # --- changes of objects and pods -----------------------------------------------------------------------

    def get_handler(self, kind: str) -> Callable[[Sequence[Change[Source]]], None]:
        """Return the function to call with changed objects of a kind."""

        def take_changes(changes: Sequence[Change[Source]]) -> None:
            for change in changes:
                if change.object is not None:
                    self._former.note_phase(change.uid, change.object)
                    self.groups.put_source(kind, change.uid, change.object)
                    continue
                self.groups.remove_source(change.uid)
                self._statuses.forget(change.uid)
                self._conditions.forget(change.uid)
                self._events.forget(change.uid)
            self.retake(self.groups.take_regrouped())
            self.apply()

        return take_changes

    def group_maps_changed(self, changes: Sequence[Change[ConfigMap]]) -> None:
        """Store the present content of changed ConfigMaps that describe groups."""
        self.topology.group_maps_changed(changes)
        self.apply()

    def pod_gone(self, uid: str) -> None:
        """Remove a pod that no longer exists, or that another scheduler places now."""
        group = self.groups.group_of(uid)
        self.groups.remove_pod(uid)
        if group is not None and self.groups.of_job(group.job.id) is None:
            self._events.forget(group.job.id)
        self.topology.pod_gone(uid)

    def assign_job(self, group: Group, task: Task) -> tuple[Task, str]:
        """Return a task with its group's job and its rank, and what the task waits for ("" for nothing)."""
        if group.member.share or group.member.whole or group.member.domain:
            self.wanted_kinds.add(group.member.source.kind)
        if task.job != group.job.id:
            task = replace(task, job=group.job.id)
        return self._apply_demand(group, task), self.groups.waits_for(group) or self.groups.explain_surplus(
            task.uid
        )

    # --- effects on jobs, conditions and events ---------------------------------------------------

    def apply(self) -> None:
        """Update jobs and tasks after changes of pods or objects."""
        for change in self.groups.take_changes():
            with self._quarantine.attempt("jobs", change.job.id, name=change.job.name):
                self._apply(change)
        moved = self.groups.take_moved()
        if not moved:
            return
        for group in moved:
            with self._quarantine.attempt("problems of groups", group.job.id, name=group.member.name):
                self._events.report_problems(group)
        self._actions += self._statuses.take_writes(moved)
        self.topology.follow(moved)

    def _apply(self, change: GroupChange) -> None:
        self._jobs.replace(change.job)
        for uid, waits_for in change.waits.items():
            record = self._tasks.get(uid)
            if record is None:
                continue
            self._tasks.hold(record, group=waits_for)
            record.task = self._apply_demand(change.group, record.task)
            self._tasks.mark(uid)
            self._pending_reasons.consider_wait(record)

    def _apply_demand(self, group: Group, task: Task) -> Task:
        """Return a task with the requirements of its group."""
        task = self.groups.set_priority(group, task)
        traits = self._classes.set_colocation(task.traits, self.groups.colocation(group))
        traits = self._classes.set_tree(traits, self.groups.place_in_tree(group, task.uid))
        return task if traits is task.traits else replace(task, traits=traits)

    def on_round(self, result: pb.RoundResult) -> None:
        """Write the groups' states after a round into their objects, unless they are written there already."""
        self.topology.on_round(result)
        slots = self._machines.total("pods") if result.gangs else 0
        for state in result.gangs:
            with self._quarantine.attempt("gangs", state.job):
                self._take_state(state, slots)

    def _take_state(self, state: pb.GangState, slots: int) -> None:
        # In state PREEMPTED, the evictions of the gang's members may still fail.
        ended = not state.running and state.state != pb.GangState.PREEMPTED
        if ended or state.state in (pb.GangState.BOUND, pb.GangState.FAILED):
            self._jobs.set_been_whole(state.job, state.state == pb.GangState.BOUND)
        group = self.groups.of_job(state.job)
        if group is None:
            return
        if state.state == pb.GangState.FAILED:
            self._placements.recall(tuple(group.progress), f"its gang was given up: {state.message}")
        if group.member.share:
            return
        message = self._events.report_state(group, state, slots)
        for uid, found in self.groups.list_objects(group):
            write = self._conditions.consider(uid, found, state.state, message)
            self._actions += [write] if write is not None else []

    def expire(self) -> None:
        """Write the counts that were postponed. Call this method about every second."""
        self._actions += self._statuses.take_late()
        self.topology.expire()
