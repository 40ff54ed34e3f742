"""Reads Kueue's annotations about topology, and makes a workload in a queue a tree of groups, one for each pod set.

The semantics are those of Kueue's topology-aware scheduling. With ``podset-required-topology``, all pods of a pod set
must be in one domain of the named level. With ``podset-preferred-topology``, they share a domain of the finest possible
level, from the named one up. A pod set may be divided into slices of equal size, each of which must be in one domain of
a further level.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from poseidon.group_trees.spec.constraints import LevelRule
from poseidon.kube.api.other_projects.kueue_topology import TopologyLevels
from poseidon.kube.api.pod_groups import OwnedPods, ScaledOwner
from poseidon.kube.parsing import strict_json
from poseidon.kube.parsing.defects import shorten
from poseidon.pod_groups.composites import GroupNode
from poseidon.pod_groups.demands import MAX_MEMBERS, Demand, count_wanted
from poseidon.pod_groups.group_names import MemberPart
from poseidon.pod_groups.topology_annotations import (
    ASKING,
    PREFERRED,
    REQUIRED,
    SLICE_LAYERS,
    SLICE_LEVEL,
    SLICE_SIZE,
    UNCONSTRAINED,
)
from poseidon.pods.templates import POD_SET_GROUP


class _FaultError(ValueError):
    """An annotation is faulty; the message says which, and why."""


@dataclass(frozen=True, slots=True)
class _Request:
    """The topology that a pod set asks for: its level, ``required`` or ``preferred`` ("" for none), and its slices.

    ``slices`` are pairs of level and size, the coarsest level first.
    """

    required: str = ""
    preferred: str = ""
    slices: tuple[tuple[str, int], ...] = ()

    @property
    def levels(self) -> tuple[str, ...]:
        """All levels that the pod set names, each once."""
        named = (self.required, self.preferred, *(level for level, _ in self.slices))
        return tuple(dict.fromkeys(filter(None, named)))


def list_owned_pods(found: ScaledOwner) -> tuple[OwnedPods, ...]:
    """Return the pod sets of an owner if some pod set requests a topology; () if none does."""
    template = found.spec.template
    sets = found.pod_sets
    if not sets and template is not None:
        ended = found.status.succeeded > 0
        sets = (OwnedPods("", count_wanted(found), template.metadata.annotations, ended),)
    return sets if any(key in each.annotations for each in sets for key in ASKING) else ()


def list_stated_pods(stated: Collection[MemberPart], count: int) -> tuple[OwnedPods, ...]:
    """Return the pod set of a pod group of ``count`` pods, by what its pods state; () if no pod asks for a topology."""
    found = sorted({each.topology for each in stated})
    if not any(key in dict(each) for each in found for key in ASKING):
        return ()
    return tuple(OwnedPods("", count, dict(each)) for each in found)


def read_topology_demand(
    demand: Demand, name: str, sets: Sequence[OwnedPods], topologies: Sequence[TopologyLevels]
) -> Demand:
    """Return the demand of a workload as a tree with a group for each pod set.

    ``demand``: the workload's requirements without topology; ``topologies``: those of its queue's flavors. Of the
    topologies, the first is used that has all levels named by the workload.
    """
    if len(sets) > 1 and not all(each.role for each in sets):
        return Demand(
            problem="its pods state different things about topology; give them the same annotations"
        )
    try:
        requests = [_read_request(each.annotations) for each in sets]
        topology = _choose(topologies, requests)
        nodes = tuple(_list_nodes(demand, name, sets, requests, topology))
    except _FaultError as fault:
        return Demand(problem=str(fault))
    return replace(demand, nodes=nodes)


def _choose(topologies: Sequence[TopologyLevels], requests: Iterable[_Request]) -> TopologyLevels:
    named = list(dict.fromkeys(level for each in requests for level in each.levels))
    for topology in topologies:
        if set(named) <= set(topology.labels):
            return topology
    if not topologies:
        raise _FaultError(
            "its pods ask for a topology, and no flavor of its queue has one; "
            "give a ResourceFlavor spec.topologyName"
        )
    known = "; ".join(f"{each.key}: {', '.join(each.labels)}" for each in topologies[:3])
    levels = ", ".join(shorten(each) for each in named)
    raise _FaultError(f"no topology of its queue's flavors has the level {levels} (there is {known})")


def _list_nodes(
    demand: Demand,
    name: str,
    sets: Sequence[OwnedPods],
    requests: Sequence[_Request],
    topology: TopologyLevels,
) -> Iterator[GroupNode]:
    """Yield the groups of a workload, parents first: the workload, groups of pod sets by name, and the pod sets."""
    if len(sets) == 1:
        yield _make_leaf(name, "", sets[0], requests[0], topology, least=demand.min_members, alone=True)
        return
    together: dict[str, list[int]] = {}
    for number, each in enumerate(sets):
        together.setdefault(each.annotations.get(POD_SET_GROUP) or f" {number}", []).append(number)
    root = f"all of {name}"
    yield GroupNode(root, least=len(together), within=(topology.key,))
    for group, members in together.items():
        parent = root
        if len(members) > 1:
            parent = f"pod set group {group}"
            asked = {_without_slices(requests[number]) for number in members}
            if len(asked) > 1:
                raise _FaultError(
                    f"annotation {POD_SET_GROUP}: the pod sets of {shorten(repr(group))} ask for different levels; "
                    "give them the same"
                )
            within, rather = _place(asked.pop(), topology)
            yield GroupNode(parent, root, len(members), within=within, rather_within=rather)
        for number in members:
            own = requests[number] if len(members) == 1 else _Request(slices=requests[number].slices)
            each = sets[number]
            yield _make_leaf(each.role, parent, each, own, topology, least=each.count)


def _make_leaf(
    name: str,
    parent: str,
    pods: OwnedPods,
    request: _Request,
    topology: TopologyLevels,
    *,
    least: int,
    alone: bool = False,
) -> GroupNode:
    """Return the group of a pod set; each domain gets a multiple of the slices' size of pods."""
    within, rather = _place(request, topology)
    if alone and not within:
        within = (topology.key,)
    outer = topology.labels.index(request.required) if request.required else 0
    former = pods.count
    divided = []
    for level, size in request.slices:
        depth = topology.labels.index(level)
        if depth < outer:
            raise _FaultError(
                f"annotation {SLICE_LEVEL}: {level} is above the level that all pods or larger slices share"
            )
        if former % size and not pods.some_ended:
            raise _FaultError(
                f"annotation {SLICE_SIZE}: {former} pods cannot be divided into slices of {size}"
            )
        outer, former = depth, size
        if size > 1 and not pods.count % size:
            divided.append((topology.name_level(level), LevelRule(factor=size)))
    return GroupNode(name, parent, least, within=within, rather_within=rather, divided=tuple(divided))


def _place(request: _Request, topology: TopologyLevels) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the node labels whose values a group's pods must, and should, share; the finest level first."""
    labels = topology.labels
    rather = tuple(topology.name_level(each) for each in reversed(labels))
    if request.required:
        finer = len(labels) - 1 - labels.index(request.required)
        return (topology.name_level(request.required),), rather[:finer]
    return (), rather if request.preferred else ()


def _without_slices(request: _Request) -> _Request:
    return replace(request, slices=())


def _read_request(annotations: Mapping[str, str]) -> _Request:
    """Return the topology that the annotations of a pod set request. Raises ``_FaultError``."""
    levels = [key for key in (REQUIRED, PREFERRED, UNCONSTRAINED) if key in annotations]
    if len(levels) > 1:
        raise _FaultError(f"annotations {levels[0]} and {levels[1]} exclude each other; leave one")
    if UNCONSTRAINED in annotations and annotations[UNCONSTRAINED] not in ("true", "false"):
        text = shorten(repr(annotations[UNCONSTRAINED]))
        raise _FaultError(f"annotation {UNCONSTRAINED}: {text} is not true or false")
    for key in (REQUIRED, PREFERRED, SLICE_LEVEL):
        if key in annotations and not annotations[key]:
            raise _FaultError(f"annotation {key}: is empty; name a level of the topology, or remove it")
    return _Request(annotations.get(REQUIRED, ""), annotations.get(PREFERRED, ""), _read_slices(annotations))


def _read_slices(annotations: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    if SLICE_LAYERS in annotations:
        if SLICE_LEVEL in annotations or SLICE_SIZE in annotations:
            raise _FaultError(
                f"annotation {SLICE_LAYERS}: excludes {SLICE_LEVEL} and {SLICE_SIZE}; remove these"
            )
        return tuple(_read_layers(annotations[SLICE_LAYERS]))
    if SLICE_LEVEL not in annotations:
        if SLICE_SIZE in annotations:
            raise _FaultError(f"annotation {SLICE_SIZE}: no level is named; give {SLICE_LEVEL}, too")
        return ()
    text = annotations.get(SLICE_SIZE, "")
    size = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    return ((annotations[SLICE_LEVEL], _check_size(size, SLICE_SIZE, text)),)


def _read_layers(text: str) -> Iterator[tuple[str, int]]:
    where = SLICE_LAYERS
    try:
        value = strict_json.loads(text)
    except strict_json.JsonError as error:
        raise _FaultError(f"annotation {where}: {error}") from None
    if not isinstance(value, list) or not value:
        raise _FaultError(f"annotation {where}: is not a list of levels and sizes")
    former = 0
    for index, each in enumerate(value):
        level = each.get("topology") if isinstance(each, dict) else None
        if not isinstance(level, str) or not level:
            raise _FaultError(f"annotation {where}: [{index}].topology: missing; name a level")
        stated = each.get("size")
        size = stated if isinstance(stated, int) and not isinstance(stated, bool) else 0
        size = _check_size(size, f"{where}: [{index}].size", str(stated))
        if former and former % size:
            raise _FaultError(f"annotation {where}: [{index}].size: {size} does not divide {former}")
        former = size
        yield level, size


def _check_size(size: int, where: str, text: str) -> int:
    if not 1 <= size <= MAX_MEMBERS:
        raise _FaultError(f"annotation {where}: {shorten(repr(text))} is no number of pods; give 1 or more")
    return size
