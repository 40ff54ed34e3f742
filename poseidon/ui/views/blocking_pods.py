"""Finds the pods that take the resources for which a pod waits: on each node, the fewest that would have to go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from poseidon.ui.views.flow.arcs import class_label, iter_arcs

if TYPE_CHECKING:
    from poseidon.explanations import Verdict
    from poseidon.ui.cluster.records import PodEntry
    from poseidon.ui.page_data import Known
    from protos.firmament.v1 import scheduler_pb2 as pb

_MOST = 10
_LOOKED_AT = 200
_PAIRED = 60
"""On nodes with at most this many pods, pairs of pods are tried."""


class PodInTheWay(NamedTuple):
    """A pod that runs on a node, or that the last round bound to it.

    ``pod`` is the pod's name, "" if only its class is known.
    """

    pod: str
    task_class: str
    requests: Mapping[str, int]
    priority: int
    lately: bool

    def takes(self, resource: str) -> int:
        """Return how much of a resource the pod requests; every pod requests 1 of ``pods``."""
        return 1 if resource == "pods" else self.requests.get(resource, 0)


def list_pods_in_the_way(
    known: Known, record: PodEntry, found: Mapping[str, Verdict], flow: pb.RoundFlow | None
) -> list[dict[str, Any]]:
    """Return rows with the fewest pods in the way, for each node that refuses a pod only because it is full.

    If the pods that the last round placed on the node are enough, the rows name these pods. Nodes that would be too
    small even without pods are left out. Nodes where the fewest and least important pods are in the way come first.
    """
    wanted = {**record.requests, "pods": 1}
    full = [name for name, each in found.items() if not each.feasible and each.lacks_only_room]
    placed = _list_recent_placements(flow, set(full)) if flow is not None else {}
    sets = []
    for name in sorted(full, key=lambda name: (name not in placed, name))[:_LOOKED_AT]:
        fewest = _fewest_on(known, name, wanted, placed.get(name, {}))
        if fewest:
            sets.append((len(fewest), max(each.priority for each in fewest), name, fewest))
    rows: list[dict[str, Any]] = []
    for _, _, name, fewest in sorted(sets, key=lambda each: each[:3]):
        rows += _rows(name, fewest)
        if len(rows) >= _MOST:
            break
    return rows[:_MOST]


def _rows(node: str, those: Sequence[PodInTheWay]) -> Iterator[dict[str, Any]]:
    """Yield a row for each pod with a name, and a row for each class of pods without known names."""
    yield from ({"pod": each.pod, "tasks": 1, "node": node} for each in those if each.pod)
    classes = [each.task_class for each in those if not each.pod]
    for label in dict.fromkeys(classes):
        yield {"class": label, "tasks": classes.count(label), "node": node}


def _list_recent_placements(flow: pb.RoundFlow, full: set[str]) -> dict[str, dict[str, PodInTheWay]]:
    """Return, by node and by uid (or a number), the pods that the last round placed on the nodes ``full``."""
    found: dict[str, dict[str, PodInTheWay]] = {}
    before = 0
    for arc in iter_arcs(flow):
        name, cls = flow.machines[arc.machine], flow.classes[arc.cls]
        if name in full:
            requests = {each.resource: each.amount for each in cls.requests}
            uids = list(flow.arc_uids[before : before + arc.tasks])
            uids += [f"{arc.number}.{number}" for number in range(len(uids), arc.tasks)]
            pod = PodInTheWay("", class_label(cls), requests, cls.priority, lately=True)
            found.setdefault(name, {}).update(dict.fromkeys(uids, pod))
        before += arc.tasks
    return found


def _fewest_on(
    known: Known, name: str, wanted: Mapping[str, int], placed: Mapping[str, PodInTheWay]
) -> Sequence[PodInTheWay]:
    """Return the fewest pods of a node that together take the wanted amounts, or () if they are unknown."""
    entry = known.store.nodes.get(name)
    if entry is None or entry.facts is None:
        return ()
    offered = entry.facts.allocatable
    if any(offered.get(resource, 0) < amount for resource, amount in wanted.items()):
        return ()
    there: dict[str, PodInTheWay] = dict(placed)
    for pod in known.store.on_node(entry):
        there[pod.uid] = PodInTheWay(pod.name, pod.task_class, pod.requests, pod.priority, pod.uid in placed)
    for uid in placed:
        if uid in known.store.pods:
            there[uid] = there[uid]._replace(pod=known.store.pods[uid].name)
    lacking = {
        resource: amount + sum(each.takes(resource) for each in there.values()) - offered.get(resource, 0)
        for resource, amount in wanted.items()
    }
    lacking = {resource: amount for resource, amount in lacking.items() if amount > 0}
    if not lacking:
        return ()
    lately = [each for each in there.values() if each.lately]
    return fewest(lately, lacking) or fewest(list(there.values()), lacking)


def fewest(among: Sequence[PodInTheWay], lacking: Mapping[str, int]) -> Sequence[PodInTheWay]:
    """Return the fewest pods that together take the lacking amounts; of equally small sets, the least important pods.

    If all pods together take less, the result is empty. If the result is one or two pods, no fewer pods would be
    enough. If the result has three or more pods, none of them can be left out.
    """

    def are_enough(those: Sequence[PodInTheWay]) -> bool:
        return all(
            sum(each.takes(resource) for each in those) >= amount for resource, amount in lacking.items()
        )

    def share(pod: PodInTheWay) -> float:
        return max(pod.takes(resource) / amount for resource, amount in lacking.items())

    useful = [each for each in among if share(each) > 0]
    useful.sort(key=lambda each: (each.priority, share(each), each.pod, each.task_class))
    if not are_enough(useful):
        return ()
    sizes = (1, 2) if len(useful) <= _PAIRED else (1,)
    for size in sizes:
        enough = [those for those in combinations(useful, size) if are_enough(those)]
        if enough:
            return min(enough, key=lambda those: [each.priority for each in reversed(those)])
    kept = list(useful)
    for each in sorted(useful, key=lambda each: (share(each), -each.priority)):
        less = [other for other in kept if other is not each]
        kept = less if are_enough(less) else kept
    return kept
