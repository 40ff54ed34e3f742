"""Reviews the evictions that a round requests: the bridge evicts a pod only if it sees the reason itself.

A pod may be evicted for three reasons: a more important pod takes its place, it uses quota that another pod is to
have, or its gang has failed. If a pod needs several victims to leave and one of them stays, none of them is evicted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from poseidon.lifecycle.evictions.rate import EvictionRate
from poseidon.lifecycle.jobs import Jobs
from poseidon.lifecycle.phases import Phase, PodRecord
from poseidon.lifecycle.pod_records import PodRecords
from poseidon.lifecycle.refused_deltas import Reason
from poseidon.pod_groups.composites import find_disrupted_whole
from poseidon.pod_groups.groups import Groups
from poseidon.pods.tasks import Task
from protos.firmament.v1 import scheduler_pb2 as pb

SYSTEM_CRITICAL = 2_000_000_000
"""A pod of at least this priority is never evicted for one of equal priority, whatever the groups' priorities are."""

_THERE = frozenset({Phase.ANSWER_DUE, Phase.BOUND, Phase.EVICTING})


class Verdict(NamedTuple):
    """Why a pod is not evicted: ``reason`` for metrics, ``words`` as text for people."""

    reason: Reason
    words: str


class ProposedRound(NamedTuple):
    """A round's proposals: victims by uid, placements that can be made, and uids of tasks that cannot be placed."""

    victims: Mapping[str, pb.Delta]
    places: Sequence[pb.Delta]
    unmade: frozenset[str]


def outranks(preemptor: Task, victim: Task) -> bool:
    """Return whether ``victim`` may be evicted for ``preemptor``, by their priorities.

    If the priorities are equal and both pods are in groups, the groups' priorities decide.
    """
    if preemptor.priority != victim.priority:
        return preemptor.priority > victim.priority
    if (
        preemptor.group_priority is None
        or victim.group_priority is None
        or victim.priority >= SYSTEM_CRITICAL
    ):
        return False
    return preemptor.group_priority > victim.group_priority


def _nobody_does(preemptor: PodRecord, victim: PodRecord) -> bool:  # noqa: ARG001 - stands for one that looks at them
    """Return False: without queues, no pod is evicted for its quota."""
    return False


class EvictionReview:
    """The review that decides which victims of a round must stay.

    ``rate`` limits how many pods are evicted. ``evicts`` returns whether other pods may be evicted for a pod at all.
    ``takes_quota`` returns whether the second pod may be evicted, on any node, so that the first gets the second's
    quota.
    """

    def __init__(
        self,
        tasks: PodRecords,
        gangs: GangView,
        rate: EvictionRate,
        evicts: Callable[[PodRecord], bool],
        takes_quota: Callable[[PodRecord, PodRecord], bool] = _nobody_does,
    ) -> None:
        self._tasks = tasks
        self._gangs = gangs
        self._rate = rate
        self._evicts = evicts
        self._takes_quota = takes_quota

    def list_staying(self, asked: ProposedRound) -> dict[str, Verdict]:
        """Return the uids of victims that must stay, and why. All victims must be known pods on the expected nodes."""
        inquiry = _Inquiry(self._tasks, self._gangs, asked, self._evicts, self._takes_quota)
        inquiry.settle()
        for together in inquiry.going_together():
            if not self._rate.allows(len(together)):
                inquiry.refuse(together, Verdict(Reason.RATE, "too many pods have been evicted lately"))
        inquiry.settle()
        return inquiry.verdicts

    def find_unit(self, uid: str) -> str:
        """Return the name of the unit that must be evicted together with a pod, see ``GangView.find_unit``."""
        return self._gangs.find_unit(uid)


class _Inquiry:
    """The review of one round's evictions; ``verdicts`` say, by uid, why victims must stay."""

    def __init__(
        self,
        tasks: PodRecords,
        gangs: GangView,
        asked: ProposedRound,
        evicts: Callable[[PodRecord], bool],
        takes_quota: Callable[[PodRecord, PodRecord], bool],
    ) -> None:
        self._tasks = tasks
        self._gangs = gangs
        self._evicts = evicts
        self._takes_quota = takes_quota
        self._victims = asked.victims
        self._places = {place.task: place for place in asked.places}
        self._void = set(asked.unmade)
        self.verdicts: dict[str, Verdict] = {}
        self._causes: dict[str, list[str]] = {}
        self._words: dict[str, Verdict] = {}
        self._failing = {uid for uid in asked.victims if gangs.is_failing(uid)}
        comes_to, goes_from = self._nodes(asked.places), self._nodes(asked.victims.values())
        for place in asked.places:
            preemptor, nodes = tasks.get(place.task), comes_to[self._kin(place.task)]
            for uid in place.depends_on:
                if preemptor is not None and uid in self._victims:
                    self._examine(preemptor, uid, near=not nodes.isdisjoint(goes_from[self._kin(uid)]))

    def refuse(self, uids: Iterable[str], verdict: Verdict) -> None:
        """Note that these victims must stay, and why."""
        self.verdicts.update(dict.fromkeys(uids, verdict))

    def settle(self) -> None:
        """Keep each victim that no pod needs evicted, or only pods that cannot be placed."""
        while True:
            before = len(self.verdicts), len(self._void)
            for uid in self._victims.keys() - self.verdicts.keys() - self._failing:
                if all(cause in self._void for cause in self._causes.get(uid, ())):
                    self.verdicts[uid] = self._why(uid)
            for task, place in self._places.items():
                if any(uid in self.verdicts or uid in self._void for uid in place.depends_on):
                    self._void.add(task)
            if (len(self.verdicts), len(self._void)) == before:
                return

    def going_together(self) -> list[list[str]]:
        """Return the victims that may be evicted, in lists: victims of one pod are in one list."""
        found = [[uid] for uid in self._victims if uid in self._failing and uid not in self.verdicts]
        seen = self._failing | self.verdicts.keys()
        for task, place in self._places.items():
            if task not in self._void:
                new = [uid for uid in place.depends_on if uid in self._victims and uid not in seen]
                seen.update(new)
                found += [new] if new else []
        return found

    def _examine(self, preemptor: PodRecord, uid: str, *, near: bool) -> None:
        """Note whether a victim may be evicted for ``preemptor``.

        ``near``: a pod of the victim's gang leaves a node to which a pod of the preemptor's gang comes.
        """
        victim = self._tasks.get(uid)
        if not self._evicts(preemptor):
            self._words[uid] = Verdict(Reason.NOT_LOWER, f"{preemptor.task.name} evicts nobody")
        elif victim is not None and self._takes_quota(preemptor, victim):
            self._causes.setdefault(uid, []).append(preemptor.task.uid)
        elif victim is None or not outranks(preemptor.task, victim.task):
            self._words[uid] = Verdict(
                Reason.NOT_LOWER, f"it is no less important than {preemptor.task.name}"
            )
        elif not near:
            self._words[uid] = Verdict(Reason.NO_REASON, f"{preemptor.task.name} comes to another node")
        else:
            self._causes.setdefault(uid, []).append(preemptor.task.uid)

    def _nodes(self, deltas: Iterable[pb.Delta]) -> dict[str, set[str]]:
        """Return the nodes of deltas by gang; for pods without a gang, by uid."""
        nodes: dict[str, set[str]] = {}
        for delta in deltas:
            nodes.setdefault(self._kin(delta.task), set()).add(delta.machine)
        return nodes

    def _kin(self, uid: str) -> str:
        return self._gangs.gang_of(uid) or uid

    def _why(self, uid: str) -> Verdict:
        if self._causes.get(uid):
            return Verdict(Reason.IN_VAIN, "whoever needs its place cannot come")
        return self._words.get(uid) or Verdict(Reason.NO_REASON, "nobody needs its place")


class GangView:
    """The numbers of gangs' members, by the groups that pods name, without trusting the solver's reports."""

    def __init__(self, groups: Groups, jobs: Jobs, tasks: PodRecords) -> None:
        self._groups = groups
        self._jobs = jobs
        self._tasks = tasks

    def gang_of(self, uid: str) -> str:
        """Return the job of a pod's gang or tree of groups, "" if the pod is in none."""
        group = self._groups.group_of(uid)
        if group is None:
            return ""
        job = self._groups.job(group)
        return group.job.id if job.min_members > 1 or job.groups else ""

    def is_failing(self, uid: str) -> bool:
        """Return whether a pod's gang has too few members on nodes and never had enough: it may then be given up."""
        group = self._groups.group_of(uid)
        if group is None or self._jobs.has_been_whole(group.job.id):
            return False
        there = sum(self._is_there(each) for each in group.progress)
        return 0 < there < self._groups.job(group).min_members

    def find_unit(self, uid: str) -> str:
        """Return the name of the unit that must be evicted together with a pod, "" if the pod may be evicted alone.

        The unit is the pod's gang if the gang must be disrupted as a whole. Otherwise the unit is the outermost group
        in the gang that contains the pod and must be disrupted as a whole.
        """
        group = self._groups.group_of(uid)
        demand = self._groups.demand(group) if group is not None and self.gang_of(uid) else None
        if group is None or demand is None:
            return ""
        if demand.disrupted_whole:
            return group.job.id
        inner = self._groups.place_in_tree(group, uid).group
        outer = find_disrupted_whole(demand.nodes, inner) if inner else ""
        return f"{outer} of {group.job.id}" if outer else ""

    def _is_there(self, uid: str) -> bool:
        record = self._tasks.get(uid)
        return record is not None and record.phase in _THERE
