"""Learns from the pods of an input how long pods of each workload run, and how often pods of each workload arrive."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from poseidon.kube.api.metadata import seconds
from poseidon.kube.api.pods import Pod
from poseidon.manifests.loader import Manifests
from poseidon.offline.cluster import OfflineCluster
from poseidon.offline.feeding import as_pending
from poseidon.pod_groups.group_names import find_membership
from poseidon.pods.run_times import find_last_end, find_run_seconds
from poseidon.pods.tasks import workload_of
from poseidon.simulate.classes import TemplateError, translate_pods
from poseidon.simulate.engine import Simulation
from poseidon.simulate.forecasts.past_arrivals import (
    LEAST_WINDOW,
    MOST_WINDOW,
    PastArrivals,
    PastTask,
    gather_arrivals,
)
from poseidon.simulate.forecasts.run_time_statistics import PastRuns, RunTimes
from poseidon.simulate.tasks import TaskProgress
from poseidon.simulate.workloads.columns import ALONE, Int64

_ENDING = re.compile(r"(-[a-z0-9]*[0-9][a-z0-9]*)+$")
OTHERS = 3.0
"""How many runs of a family all other runs of its workload together count as."""
MOST_OTHERS = 300
"""The most runs of others that each family reads; if there are more, it reads every second, third and so on."""
_TOGETHER = 60.0
"""Seconds within which pods of one workload count as created together."""
_ALL_THAT_END = ("all that end",)
"""Key of all pods that are not started again once they have ended, whatever their workload."""


class Family(NamedTuple):
    """Properties that pods with similar run times have in common."""

    workload: str
    """Name of the pods' workload, without number or hash."""
    stated: float
    """Run time in seconds that each pod states, infinite if it states none."""
    requests: Hashable
    """Requests of the pods' containers."""
    ends: bool
    """Whether a pod of the family is not started again once its containers have ended."""


class RunFamilies:
    """Numbers families of pods.

    A family has pods of one workload, or of its earlier copies, with the same requests and the same stated run time.
    """

    def __init__(self) -> None:
        self._numbers: dict[Family, int] = {}

    def find(self, pod: Pod) -> int:
        """Return the number of the family to which a pod belongs."""
        return self._numbers.setdefault(find_family(pod), len(self._numbers))

    def __iter__(self) -> Iterator[tuple[Family, int]]:
        """Yield each family and its number."""
        yield from self._numbers.items()


class _Run(NamedTuple):
    """A pod, or a gang, that has begun; moments are in seconds since the epoch."""

    begun: float
    until: float
    """When the run ended, or the present time if it has not."""
    over: bool
    """Whether the run has ended."""

    def join(self, other: _Run) -> _Run:
        """Return the run of a gang from the runs of two of its pods; the gang's run has ended when both have ended."""
        return _Run(min(self.begun, other.begun), max(self.until, other.until), self.over and other.over)


def find_family(pod: Pod) -> Family:
    """Return a pod's family; its workload is named without number (as in train-7 and train-8) or hash."""
    requests = tuple(tuple(sorted(each.resources.requests.items())) for each in pod.spec.containers)
    ends = pod.spec.restart_policy in ("Never", "OnFailure")
    return Family(_ENDING.sub("", workload_of(pod)), _find_stated(pod), requests, ends)


def learn_run_times(
    pods: Iterable[Pod], all_pods: Iterable[Pod], families: RunFamilies, now: float
) -> RunTimes:
    """Return the run times of ``pods``, learnt from those of ``all_pods`` that run or have ended.

    ``now`` is in seconds since the epoch.

    A few runs of a family tell little. Other pods of the family's workload count as well if they state the same run
    time; all of them together count as ``OTHERS`` runs. If no pod of the family has ended, each of these other pods
    counts fully. If none of the other pods with the same stated run time has ended either, all pods of the workload
    count. If no pod of the workload has ended, and its pods are not started again once they have ended, all pods
    count that are not started again. Pods of a gang that began together count as one run, because they also end
    together.
    """
    mine = list(pods)
    families_of_mine = np.array([families.find(pod) for pod in mine], dtype=np.int64)
    found: dict[Hashable, dict[Hashable, _Run]] = {}
    for place, pod in enumerate(all_pods):
        first, end = seconds(pod.status.start_time), _find_end(pod)
        families.find(pod)  # Pods of a kind that always fails arrive again, too.
        if first is not None and (end is not None or pod.status.phase == "Running"):
            run = _Run(first, max(now, first) if end is None else end, end is not None)
            gang = find_membership(pod)
            key: Hashable = place if gang is None else (gang, first // _TOGETHER)
            for kin in _list_kin(find_family(pod)):
                runs = found.setdefault(kin, {})
                runs[key] = run.join(runs.get(key, run))
    learnt = _learn_by_family(families, found)
    return RunTimes(
        families_of_mine, np.array([_find_stated(pod) for pod in mine]), _number_gangs(mine), learnt
    )


def _learn_by_family(
    families: RunFamilies, found: Mapping[Hashable, Mapping[Hashable, _Run]]
) -> dict[int, PastRuns]:
    """Return the run times of each family with known runs.

    ``found`` has runs by key of ``_list_kin``, and by pod or gang.

    If no pod of a family has ended, the family shares the run times of all pods of its workload that state the same
    run time. If none of those has ended, it shares those of the whole workload, or else those of all pods that are
    not started again.
    """
    shared: dict[Hashable, PastRuns | None] = {}
    samples: dict[Hashable, list[Hashable]] = {}
    learnt = {}
    for family, number in families:
        itself, *wider = _list_kin(family)
        own, alike = found.get(itself, {}), found.get(wider[0], {})
        if any(run.over for run in own.values()):
            if wider[0] not in samples:
                samples[wider[0]] = list(alike)[:: 1 + len(alike) // MOST_OTHERS]
            others = [alike[key] for key in samples[wider[0]] if key not in own]
            learnt[number] = _collect_runs(list(own.values()), others)
            continue
        for kin in wider:
            if kin not in shared:
                runs = list(found.get(kin, {}).values())
                shared[kin] = _collect_runs(runs, ()) if any(run.over for run in runs) else None
            if (past := shared[kin]) is not None:
                learnt[number] = past
                break
    return learnt


def _list_kin(family: Family) -> tuple[Hashable, ...]:
    """Return keys: a family, all pods of its workload that state the same run time, and its workload.

    If the family's pods are not started again once they have ended, the last key stands for all such pods.
    """
    kin: tuple[Hashable, ...] = family, family[:2], family.workload
    return (*kin, _ALL_THAT_END) if family.ends else kin


def _collect_runs(own: Sequence[_Run], others: Sequence[_Run]) -> PastRuns:
    """Return the run times of one family, from its own runs and from other runs of its workload."""
    begun, until, over = (np.array(column) for column in zip(*own, *others, strict=True))
    age = until - begun
    weight = np.append(np.ones(len(own)), np.full(len(others), min(1.0, OTHERS / max(len(others), 1))))
    return PastRuns(age, over, np.clip(until[over].min() - begun, 0.0, age), weight)


def _number_gangs(pods: Iterable[Pod]) -> Int64:
    """Return the number of each pod's gang, ``ALONE`` for pods without a gang: int64[N]."""
    numbers: dict[Hashable, int] = {}
    found = (find_membership(pod) for pod in pods)
    return np.array(
        [ALONE if each is None else numbers.setdefault(each, len(numbers)) for each in found], dtype=np.int64
    )


def look_back(
    manifests: Manifests,
    cluster: OfflineCluster,
    simulation: Simulation,
    run_times: RunTimes,
    families: RunFamilies,
    now: float,
) -> PastArrivals:
    """Return the recent arrivals of pods that run for a limited time; pods of services only replace others.

    The function adds the kinds of ended pods to the simulation. If the known past is too short, the function returns
    no arrivals.
    """
    created = {pod.metadata.uid: seconds(pod.metadata.creation_timestamp) for pod in manifests.pods}
    first = min((each for each in created.values() if each is not None), default=now)
    since = max(now - MOST_WINDOW, first)
    if now - since < LEAST_WINDOW:
        return gather_arrivals((), MOST_WINDOW)
    template_of = {
        simulation.uids[place]: int(simulation.tasks.work.template[place])
        for place in range(len(simulation.uids))
    }
    came = [
        pod
        for pod in manifests.pods
        if since < (created[pod.metadata.uid] or 0.0) <= now
        and (families.find(pod) in run_times.learnt or _find_stated(pod) < np.inf)
    ]
    template_of |= _add_kinds([pod for pod in came if _is_over(pod)], cluster, simulation)
    return gather_arrivals(
        (
            PastTask(
                template_of[pod.metadata.uid], families.find(pod), _find_stated(pod),
                *_find_submission(pod, created[pod.metadata.uid] or 0.0),
            )
            for pod in came
            if pod.metadata.uid in template_of
        ),
        now - since,
    )  # fmt: skip


def _add_kinds(pods: Sequence[Pod], cluster: OfflineCluster, simulation: Simulation) -> dict[str, int]:
    """Add the kinds of ended pods to a simulation; return the kind of each pod by uid."""
    kinds = simulation.kinds
    columns = zip(kinds.classes, kinds.priorities, kinds.spread, strict=True)
    known = {
        (message.id, priority, spread): place for place, (message, priority, spread) in enumerate(columns)
    }
    found, new = {}, []
    for pod in pods:
        try:
            mine = translate_pods(
                [workload_of(pod)], [as_pending(pod)], cluster.state, simulation.machines.resources
            )
        except TemplateError:
            continue  # A pod from which no task can be made does not arrive again.
        key = mine.classes[0].id, mine.priorities[0], mine.spread[0]
        if key not in known:
            known[key] = len(known)
            new.append(mine)
        found[pod.metadata.uid] = known[key]
    simulation.replace_kinds(kinds.add(new))
    return found


def _find_submission(pod: Pod, created: float) -> tuple[Hashable, bool]:
    """Return a key that pods submitted together share (None for one pod), and whether they are placed together."""
    member = find_membership(pod)
    if member is not None:
        return member, True
    return None if pod.metadata.controller() is None else (workload_of(pod), created // _TOGETHER), False


def _is_over(pod: Pod) -> bool:
    return pod.status.phase in ("Succeeded", "Failed")


def _find_stated(pod: Pod) -> float:
    return float(find_run_seconds(pod)) or np.inf


def _find_end(pod: Pod) -> float | None:
    """Return when a pod has succeeded, or None if it has not or if the time is unknown."""
    if pod.status.phase != "Succeeded":
        return None
    begun, last = seconds(pod.status.start_time), find_last_end(pod)
    return None if begun is None or last is None or last <= begun else last


def set_beginnings(simulation: Simulation, pods: Iterable[Pod], now: float) -> None:
    """Set the arrivals and begins of pods in a simulation to the times that the pods state."""
    tasks = simulation.tasks
    for place, pod in enumerate(pods):
        begun, created = seconds(pod.status.start_time), seconds(pod.metadata.creation_timestamp)
        if created is not None:
            tasks.work.arrival[place] = min(created - now, 0.0)
        if begun is not None and tasks.state[place] == TaskProgress.RUNNING:
            tasks.begun[place] = min(begun - now, 0.0)
