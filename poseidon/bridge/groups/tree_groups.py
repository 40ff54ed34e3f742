"""Handles topology groups in the bridge: reads their ConfigMaps, sends records to the solver, writes results back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from poseidon.bridge.groups.topology_reports import TopologyNotes, TopologyRecords
from poseidon.group_trees.spec.described_maps import DescribedMap
from poseidon.group_trees.spec.groups import MAX_SIZE, GroupMaps, GroupName, GroupSpec, remarks_on
from poseidon.group_trees.spec.trees import ClusterTrees, TreeArguments
from poseidon.group_trees.status.group_status import GroupLife, Outlook, Situation, State
from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.api.other_projects.app_network import ConfigMap
from poseidon.kube.api.resource import Change
from poseidon.kube.quarantine import Quarantine
from poseidon.lifecycle.actions import Action
from poseidon.pod_groups.group import Group
from poseidon.pod_groups.group_names import POD_GROUP, TOPOLOGY_GROUP, Membership, ObjectKey, Progress
from poseidon.pod_groups.groups import Groups
from poseidon.pods.tasks import parts_of
from protos.firmament.v1 import scheduler_pb2 as pb

_PLACED = (Progress.PLACED, Progress.RUNNING, Progress.SUCCEEDED)

_OFF = "the overlay topology is off, and the constraints are ignored"


class _Said(NamedTuple):
    """The solver's last report about a group, and the seconds that its round took."""

    phase: int
    message: str
    seconds: float


class TopologyGroups:
    """All topology groups, with the writes of their states.

    ``wall`` returns seconds since the epoch, ``name_of`` the name of a pod by uid. ``records`` get the tree and its
    groups, ``actions`` get the writes to carry out. Nothing is written before ``begin``, because only part of a group
    may be known until then. Some states usually end at once; ``expire`` writes a state of this kind if it has lasted
    until then. ``lives`` has the history of each group, by job.
    """

    def __init__(
        self,
        groups: Groups,
        arguments: TreeArguments,
        wall: Callable[[], float],
        name_of: Callable[[str], str],
        records: TopologyRecords,
        actions: list[Action],
        quarantine: Quarantine,
    ) -> None:
        self._quarantine = quarantine
        self._groups = groups
        self._wall = wall
        self._name_of = name_of
        self.trees = ClusterTrees(arguments)
        self.tree_is_read = records.wanted
        self._records = records
        self._maps = GroupMaps()
        self._notes = TopologyNotes(actions, wall)
        self.lives: dict[str, GroupLife] = {}
        self._said: dict[str, _Said] = {}
        self._late: dict[str, None] = {}
        self._begun = False

    # --- changes of ConfigMaps and pods --------------------------------------------------------------------

    def tree_maps_changed(self, changes: Sequence[Change[ConfigMap]]) -> None:
        """Store the present content of changed ConfigMaps that describe trees."""
        touched = False
        for change in changes:
            if change.object is not None:
                touched |= self.trees.put(change.object)
            else:
                touched |= self.trees.remove(change.uid)
                self._notes.forget(change.uid)
        if touched:
            self._records.set_tree(self.trees.spec)
            self._look_at_trees()
            # The levels of the tree decide which settings of a group have no effect, so all groups are checked again.
            self._look_at(self.lives)

    def group_maps_changed(self, changes: Sequence[Change[ConfigMap]]) -> None:
        """Store the present content of changed ConfigMaps that describe groups."""
        touched: set[GroupName] = set()
        for change in changes:
            if change.object is not None:
                touched |= self._maps.put(change.object)
            else:
                touched |= self._maps.remove(change.uid)
                self._notes.forget(change.uid)
        for name in touched:
            self._groups.put_described(*name, self._maps.get(name))
        self._look_at_maps(touched)

    def pod_gone(self, uid: str) -> None:
        """Remove a pod that does not exist any more."""
        self._notes.forget(uid)

    def begin(self) -> None:
        """Begin to write about groups. Call this method once all pods and ConfigMaps are known."""
        if not self._begun:
            self._begun = True
            self._look_at_trees()
            self._look_at(each.job.id for each in self._groups)
            self._look_at_maps(self._maps)

    def follow(self, moved: Iterable[Group]) -> None:
        """Update groups whose pods have changed phase, or whose description has changed."""
        for group in moved:
            with self._quarantine.attempt("topology groups", group.job.id, name=group.member.name):
                self._follow(group)

    def _follow(self, group: Group) -> None:
        spec = self._groups.topology(group)
        self._records.set_group(group.job.id, group.member.source.namespace, spec)
        life = self.lives.get(group.job.id)
        placed = sum(group.counts[each] for each in _PLACED)
        if spec is not None and life is not None and placed >= spec.size and life.state is not State.BOUND:
            self._look(group.job.id)
        else:
            # Many members come or go at once: the state of an incomplete group can wait until the next call of
            # ``expire``.
            self._late[group.job.id] = None

    def on_round(self, result: pb.RoundResult) -> None:
        """Store the solver's reports about groups, and for whom it evicts members of groups."""
        stats = result.stats
        spent = stats.snapshot_seconds + stats.network_seconds + stats.solve_seconds + stats.admit_seconds
        self._note_preemptors(result)
        for state in result.gangs:
            self._said[state.job] = _Said(state.state, state.message, spent)
            self._look(state.job)

    def expire(self) -> None:
        """Write postponed states, and remove groups that no longer exist. Call this method about every second."""
        for job in self._records.list_jobs():
            if self._groups.of_job(job) is None:
                self._records.set_group(job, "", None)
        for job in [job for job in self._said if job not in self.lives and self._groups.of_job(job) is None]:
            del self._said[job]
        late, self._late = self._late, {}
        emptied = [
            job for job, life in self.lives.items() if not life.is_empty and self._groups.of_job(job) is None
        ]
        for job in dict.fromkeys((*late, *emptied)):
            self._look(job, passing=True)

    def problems(self) -> Iterator[tuple[DescribedMap[Any], str]]:
        """Yield the ConfigMaps that have faults, or settings without effect, each with a message."""
        said: list[tuple[DescribedMap[Any], str]] = [*self.trees.problems()]
        for name in self._maps:
            described = self._maps.get(name)
            if described is not None:
                said.append((described, described.problem or "; ".join(described.reading.remarks)))
            said.extend(self._maps.list_ignored(name))
        return ((described, text) for described, text in said if text)

    # --- effects of a change on statuses and events --------------------------------------------------------

    def _look_at(self, jobs: Iterable[str]) -> None:
        for job in [*jobs]:
            self._look(job)

    def _look(self, job: str, *, passing: bool = False) -> None:
        """Write changes of a group's state; ``passing``: write even a state that may end at once."""
        with self._quarantine.attempt("states of topology groups", job):
            self._look_closely(job, passing=passing)

    def _look_closely(self, job: str, *, passing: bool) -> None:
        group = self._groups.of_job(job)
        described = self._find_description(job, group)
        spec = self._groups.topology(group) if group is not None else None
        if described is None and spec is None:
            self.lives.pop(job, None)
        if not self._begun or (described is None and spec is None):
            return
        life = self._life(job, group, described)
        former = life.state
        outlook = self._outlook(life, group, described, spec)
        if outlook.passing and not passing:
            self._late[job] = None
            return
        if described is not None and self._notes.write_changes(described, outlook):
            self._late[job] = None
        if group is not None:
            for uid, labels in outlook.labels.items():
                self._notes.label(group.members[uid], labels)
            if life.state is State.BOUND is not former:
                self._clear_preemptor({group.member.name, *group.members})

    def _life(self, job: str, group: Group | None, described: DescribedMap[GroupSpec] | None) -> GroupLife:
        life = self.lives.get(job)
        if life is None:
            life = self.lives[job] = GroupLife()
            data = self._notes.read_notes(described) if described is not None else {}
            life.recover(data, group.members if group is not None else {})
        return life

    def _outlook(
        self,
        life: GroupLife,
        group: Group | None,
        described: DescribedMap[GroupSpec] | None,
        spec: GroupSpec | None,
    ) -> Outlook:
        problem, remark = "", ""
        if described is not None:
            # If the new description is faulty, the former description may still be in force.
            problem = described.problem if described.spec is None else ""
            remark = described.problem if described.spec is not None else ""
            remark = remark or "; ".join((*described.reading.remarks, *self._remarks(described.spec)))
            self._notes.warn_once(described, described.problem, EventReason.INVALID_GROUP)
        members = {}
        if group is not None:
            members = self._groups.list_admitted(group) if spec is not None else group.members
        said = self._said.get(group.job.id if group is not None else "", _Said(0, "", 0.0))
        life.solver_seconds = said.seconds
        size = spec.size if spec is not None else MAX_SIZE
        if described is not None and described.spec is not None:
            size = described.spec.size
        situation = Situation(
            size=size,
            members=len(members),
            placed=sum(each.placed for each in members.values()),
            phase=said.phase,
            message=said.message,
            problem=problem,
        )
        return life.find_outlook(members, situation, self.trees.tree(), remark, self._wall())

    def _remarks(self, spec: GroupSpec | None) -> list[str]:
        if spec is None or not spec.constraints:
            return []
        return remarks_on(spec, self.trees.tree().levels) if self.tree_is_read else [_OFF]

    def _look_at_maps(self, names: Iterable[GroupName]) -> None:
        """Write changes of groups into their ConfigMaps, and the reason for being ignored into ignored ConfigMaps."""
        for name in sorted(names):
            self._look(self._job_of(name))
            for described, text in self._maps.list_ignored(name):
                if self._begun:
                    self._note(described, text, EventReason.INVALID_GROUP, warns=True)

    def _look_at_trees(self) -> None:
        if self._begun:
            for described, text in self.trees.problems():
                warns = bool(described.problem) or described is not self.trees.described
                self._note(described, text, EventReason.INVALID_TOPOLOGY, warns=warns)

    def _note(self, described: DescribedMap[Any], text: str, reason: EventReason, *, warns: bool) -> None:
        with self._quarantine.attempt(
            "notes on ConfigMaps", described.uid, name=described.found.metadata.name
        ):
            self._notes.note(described, text, reason, warns=warns)

    def _note_preemptors(self, result: pb.RoundResult) -> None:
        """Remember for which pods or groups members of groups are being evicted."""
        victims = {
            delta.task for delta in result.deltas if delta.kind == pb.Delta.PREEMPT and not delta.withdrawn
        }
        if not victims:
            return
        for delta in result.deltas:
            for uid in victims.intersection(delta.depends_on):
                group, preemptor = self._groups.group_of(uid), self._groups.group_of(delta.task)
                life = self.lives.get(group.job.id) if group is not None else None
                if life is not None and group is not None:
                    name = preemptor.member.name if preemptor is not None else self._name_of(delta.task)
                    # People who may read the group's ConfigMap must not learn names of pods in other namespaces.
                    theirs = name.partition("/")[0] == group.member.source.namespace
                    life.preemptor = name if theirs else delta.task

    def _clear_preemptor(self, names: Collection[str]) -> None:
        """Remove these preemptors, which have been bound, from all groups: no pod is evicted for them any more."""
        for job, life in [*self.lives.items()]:
            if life.preemptor in names:
                life.preemptor = ""
                self._look(job)

    # --- job, description and pods of a group ---------------------------------------------------------------

    def _job_of(self, name: GroupName) -> str:
        """Return the job of a group's pods. The pods may name their group by the label of a PodGroup."""
        jobs = [Membership(ObjectKey(kind, *name)).job for kind in (TOPOLOGY_GROUP, POD_GROUP)]
        return next((job for job in jobs if self._groups.of_job(job) is not None), jobs[0])

    def _find_description(self, job: str, group: Group | None) -> DescribedMap[GroupSpec] | None:
        if group is not None:
            source = group.member.source
            known = source.kind in (TOPOLOGY_GROUP, POD_GROUP)
            return self._maps.get(GroupName(source.namespace, source.name)) if known else None
        kind, *parts = parts_of(job)
        if kind != TOPOLOGY_GROUP or len(parts) != len(GroupName._fields):
            return None
        found = GroupName(*parts)
        if self._job_of(found) != job:
            return None
        return self._maps.get(found)
