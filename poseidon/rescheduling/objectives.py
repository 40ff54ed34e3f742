"""Chooses moves for an objective: which pods should move to which nodes, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from poseidon.embedding import EmbeddedTrials
from poseidon.group_trees.status.placement import natural
from poseidon.offline.freeable_nodes import FreeNodes, find_free_nodes, make_trials
from poseidon.rescheduling.cluster_access import NOT_FREED
from poseidon.rescheduling.initial_cluster import InitialCluster

_LOAD = "load_threshold"


class Objective(Enum):
    """What moves are to achieve.

    ``LOWER_COST``: pods move to nodes where cost models charge less. ``RELIEVE_LOAD``: pods leave nodes that are hot
    by measured use. ``FREE_NODES``: pods leave nodes that can be emptied completely. ``MAKE_ROOM``: pods leave a node
    so that a waiting pod fits on it: the first waiting pod that moves can help.
    """

    LOWER_COST = "lower-cost"
    RELIEVE_LOAD = "relieve-load"
    FREE_NODES = "free-nodes"
    MAKE_ROOM = "make-room"


@dataclass(frozen=True, slots=True)
class ObjectiveOptions:
    """The objective of moves, and the limits on them."""

    objective: Objective = Objective.LOWER_COST
    """The objective that moves serve."""
    move_cost: float = 20.0
    """Points that a move must save if the objective is ``LOWER_COST``."""
    hot: tuple[tuple[str, float], ...] = ()
    """By resource, the percentage of use at which a node counts as hot."""
    nodes: tuple[str, ...] = ()
    """The nodes that may be freed; empty if all nodes may be freed."""
    tries: int = 200
    """The most trial rounds that are run."""
    most: int = 100
    """The most moves that are planned."""
    local_data_may_go: bool = False
    """Whether pods with data in folders of their nodes may be moved."""
    failed: frozenset[str] = frozenset()
    """Nodes that could not be freed before, and for which nothing relevant has changed since."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pod (uid) that has to move to the node ``target``.

    ``saves`` is what the move saves in points, 0 if the aim is not to save costs.
    """

    uid: str
    target: str
    why: str
    saves: float = 0.0


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen moves, the most important first.

    ``freed`` are the nodes that the moves empty; ``notes`` are lines for people.
    """

    moves: tuple[Wanted, ...]
    freed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _lower_cost(initial: InitialCluster, options: ObjectiveOptions) -> Choice:
    found = initial.scheduler.find_cheaper_moves(initial.prices, options.move_cost, options.most)
    moves = (
        Wanted(each.uid, each.target, f"saves {each.gain:,.0f} points", each.gain) for each in found.moves
    )
    return Choice(tuple(moves))


def _relieve_load(initial: InitialCluster, options: ObjectiveOptions) -> Choice:
    found = initial.scheduler.relieve(initial.prices.keys(), dict(options.hot), options.most)
    moves = tuple(Wanted(each.uid, each.target, f"node {each.source} is hot") for each in found.moves)
    notes = [f"node {name} stays hot: none of its pods has a cooler node to move to" for name in found.left]
    if found.left and not any(each.name == _LOAD for each in initial.configuration.all_cost_models):
        notes.append(
            f"the use of single pods is known only with a cost model that reads load, such as {_LOAD}"
        )
    return Choice(moves, notes=tuple(notes))


def _free_nodes(initial: InitialCluster, options: ObjectiveOptions) -> Choice:
    nodes = initial.running.nodes
    known = {each.node for each in initial.plan.nodes}
    candidates = known if not options.nodes else known & set(options.nodes)
    trials = _make_trials(initial)
    found = find_free_nodes(
        trials, initial.pods, initial.running, initial.staying, initial.plan, set(candidates) - options.failed,
        tries=options.tries, budget=options.most,
    )  # fmt: skip
    order = sorted(found.moves, key=lambda uid: (nodes[uid] not in found.room, natural(nodes[uid]), uid))
    moves = tuple(
        Wanted(
            uid,
            found.moves[uid],
            _explain_room(found.room[nodes[uid]], uid)
            if nodes[uid] in found.room
            else f"node {nodes[uid]} is to be freed",
        )
        for uid in order
    )
    return Choice(
        moves,
        # Only nodes with moves are cordoned; a node that is already empty is the target of no move.
        tuple(sorted({nodes[uid] for uid in order} - found.room.keys(), key=natural)),
        (
            *_explain_unfreed(options.nodes, known, found, options.failed),
            *_explain_untried(options.failed & set(candidates)),
        ),
    )


def _explain_untried(nodes: Collection[str]) -> Iterator[str]:
    """Yield a line for each node that is not tried again because nothing has changed."""
    for name in sorted(nodes, key=natural):
        yield (
            f"node {name} could not be freed before, and nothing has changed since; "
            f"kubectl annotate node {name} {NOT_FREED}- has it tried again"
        )


def _explain_unfreed(
    asked: Collection[str], known: Collection[str], found: FreeNodes, failed: Collection[str]
) -> Iterator[str]:
    """Yield a line that says why, for each node that the user wanted to free and that is not freed."""
    for name in sorted(set(asked), key=natural):
        if name not in known:
            yield f"node {name} is not known"
        elif name not in found.nodes and name not in failed:
            kept = sorted(f"pod {pod} {why}" for pod, why in found.kept.get(name, {}).items())
            why = f": {'; '.join(kept)}" if kept else ": one of its pods has no other node"
            yield f"node {name} cannot be freed now{why}"


def _make_room(initial: InitialCluster, options: ObjectiveOptions) -> Choice:
    """Choose moves that make room for the first waiting pod, in the order of names, that moves can help."""
    waiting = [each.pod for each in initial.plan.pending]
    if not waiting:
        return Choice(())
    trials = _make_trials(initial, initial.staying)
    found = trials.find_room(waiting, options.tries)
    if found is None or len(found.moves) > options.most:
        return Choice((), notes=("no small number of moves gives a waiting pod a node",))
    first = min(found.places)
    return Choice(
        tuple(Wanted(uid, target, _explain_room(first, uid)) for uid, target in sorted(found.moves.items()))
    )


def _explain_room(waiting: str, moved: str) -> str:
    """Return why the pod ``moved`` is moved; the ``waiting`` pod is named only if it is in the same namespace."""
    same = waiting.partition("/")[0] == moved.partition("/")[0]
    return f"makes room for {waiting}" if same else "makes room for a pod of another namespace"


def _make_trials(initial: InitialCluster, fixed: Collection[str] = ()) -> EmbeddedTrials:
    return make_trials(
        initial.configuration, initial.now, initial.events, initial.pods, initial.running, initial.plan,
        fixed,
    )  # fmt: skip


def rehearse(
    initial: InitialCluster, waves: Sequence[Mapping[str, str]], cordoned: Collection[str]
) -> set[str]:
    """Return the pods (uids) that do not get their targets when moves (uid -> node) are made in waves.

    The ``cordoned`` nodes are cordoned before the first wave.
    """
    return _make_trials(initial).rehearse(waves, cordoned)


_CHOICES = {
    Objective.LOWER_COST: _lower_cost,
    Objective.RELIEVE_LOAD: _relieve_load,
    Objective.FREE_NODES: _free_nodes,
    Objective.MAKE_ROOM: _make_room,
}


def choose_moves(initial: InitialCluster, options: ObjectiveOptions) -> Choice:
    """Return the moves that best serve an objective."""
    return _CHOICES[options.objective](initial, options)
