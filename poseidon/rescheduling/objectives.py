"""The objectives of moves: each says which pods should go where, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from poseidon.embedding import EmbeddedTrials
from poseidon.group_trees.status.placement import natural
from poseidon.offline.freeing import FreeNodes, find_free_nodes, placement_trials
from poseidon.rescheduling.cluster_access import NOT_FREED
from poseidon.rescheduling.standing import Standing

_LOAD = "load_threshold"


class Objective(Enum):
    """``LOWER_COST``: pods go to where cost models charge less. ``RELIEVE_LOAD``: off nodes that are hot by measured
    use. ``FREE_NODES``: off nodes that can be emptied. ``MAKE_ROOM``: out of the way of the first that waits.
    """

    LOWER_COST = "lower-cost"
    RELIEVE_LOAD = "relieve-load"
    FREE_NODES = "free-nodes"
    MAKE_ROOM = "make-room"


@dataclass(frozen=True, slots=True)
class ObjectiveOptions:
    """What moves should reach, and at what price."""

    objective: Objective = Objective.LOWER_COST
    """What moves should reach."""
    move_cost: float = 20.0
    """Points that a move must save for ``LOWER_COST``."""
    hot: tuple[tuple[str, float], ...] = ()
    """Percent of use by resource from which on a node is hot."""
    nodes: tuple[str, ...] = ()
    """The only nodes to free, empty for any."""
    tries: int = 200
    """Most rounds to try."""
    most: int = 100
    """Most moves."""
    local_data_may_go: bool = False
    """Whether pods with data in folders of their nodes may move."""
    failed: frozenset[str] = frozenset()
    """Nodes that could not be freed, while nothing has changed since."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pod (uid) that should go to ``target``; ``saves``: points, 0 where that is not what it is for."""

    uid: str
    target: str
    why: str
    saves: float = 0.0


@dataclass(frozen=True, slots=True)
class Choice:
    """Moves in order of importance, and the nodes that they free. ``notes``: for people."""

    moves: tuple[Wanted, ...]
    freed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _lower_cost(standing: Standing, options: ObjectiveOptions) -> Choice:
    found = standing.scheduler.cheaper(standing.prices, options.move_cost, options.most)
    moves = (
        Wanted(each.uid, each.target, f"saves {each.gain:,.0f} points", each.gain) for each in found.moves
    )
    return Choice(tuple(moves))


def _relieve_load(standing: Standing, options: ObjectiveOptions) -> Choice:
    found = standing.scheduler.relieve(standing.prices.keys(), dict(options.hot), options.most)
    moves = tuple(Wanted(each.uid, each.target, f"node {each.source} is hot") for each in found.moves)
    notes = [f"node {name} stays hot: no pod of it has a cooler place" for name in found.left]
    if found.left and not any(each.name == _LOAD for each in standing.configuration.all_cost_models):
        notes.append(f"what single pods use is known with a cost model that looks at load, such as {_LOAD}")
    return Choice(moves, notes=tuple(notes))


def _free_nodes(standing: Standing, options: ObjectiveOptions) -> Choice:
    nodes = standing.running.nodes
    known = {each.node for each in standing.plan.nodes}
    candidates = known if not options.nodes else known & set(options.nodes)
    trials = _trials(standing)
    found = find_free_nodes(
        trials, standing.pods, standing.running, standing.staying, standing.plan, set(candidates) - options.failed,
        tries=options.tries, budget=options.most,
    )  # fmt: skip
    order = sorted(found.moves, key=lambda uid: (nodes[uid] not in found.room, natural(nodes[uid]), uid))
    moves = tuple(
        Wanted(
            uid,
            found.moves[uid],
            _room_for(found.room[nodes[uid]], uid)
            if nodes[uid] in found.room
            else f"node {nodes[uid]} is to be freed",
        )
        for uid in order
    )
    return Choice(
        moves,
        # Nodes that are empty already are nobody's target, and need no cordon.
        tuple(sorted({nodes[uid] for uid in order} - found.room.keys(), key=natural)),
        (*_notes(options.nodes, known, found, options.failed), *_failures(options.failed & set(candidates))),
    )


def _failures(nodes: Collection[str]) -> Iterator[str]:
    """Say which nodes are not tried again."""
    for name in sorted(nodes, key=natural):
        yield (
            f"node {name} could not be freed before, and nothing has changed since; "
            f"kubectl annotate node {name} {NOT_FREED}- has it tried again"
        )


def _notes(
    asked: Collection[str], known: Collection[str], found: FreeNodes, failed: Collection[str]
) -> Iterator[str]:
    """Say why nodes that were asked for are not freed."""
    for name in sorted(set(asked), key=natural):
        if name not in known:
            yield f"node {name} is not known"
        elif name not in found.nodes and name not in failed:
            kept = sorted(f"pod {pod} {why}" for pod, why in found.kept.get(name, {}).items())
            why = f": {'; '.join(kept)}" if kept else ": some of its pods has no place elsewhere"
            yield f"node {name} cannot be freed now{why}"


def _make_room(standing: Standing, options: ObjectiveOptions) -> Choice:
    """Plan moves that give room to the first waiting pod, in the order of names, for which some do."""
    waiting = [each.pod for each in standing.plan.pending]
    if not waiting:
        return Choice(())
    trials = _trials(standing, standing.staying)
    found = trials.find_room(waiting, options.tries)
    if found is None or len(found.moves) > options.most:
        return Choice((), notes=("no few moves give anyone a place who waits",))
    first = min(found.places)
    return Choice(
        tuple(Wanted(uid, target, _room_for(first, uid)) for uid, target in sorted(found.moves.items()))
    )


def _room_for(waiting: str, moved: str) -> str:
    """Name the pod that a pod makes room for, unless the owner must not see names of that namespace."""
    same = waiting.partition("/")[0] == moved.partition("/")[0]
    return f"makes room for {waiting}" if same else "makes room for a pod of another namespace"


def _trials(standing: Standing, fixed: Collection[str] = ()) -> EmbeddedTrials:
    return placement_trials(
        standing.configuration, standing.now, standing.events, standing.pods, standing.running, standing.plan,
        fixed,
    )  # fmt: skip


def rehearse(standing: Standing, waves: Sequence[Mapping[str, str]], cordoned: Collection[str]) -> set[str]:
    """Return the pods (uids) that do not get their nodes when moves (uid -> node) are made in waves.

    The ``cordoned`` nodes are so before the first.
    """
    return _trials(standing).rehearse(waves, cordoned)


_CHOICES = {
    Objective.LOWER_COST: _lower_cost,
    Objective.RELIEVE_LOAD: _relieve_load,
    Objective.FREE_NODES: _free_nodes,
    Objective.MAKE_ROOM: _make_room,
}


def choose(standing: Standing, options: ObjectiveOptions) -> Choice:
    """Return the moves for an objective."""
    return _CHOICES[options.objective](standing, options)
