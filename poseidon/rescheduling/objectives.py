"""What moves are for: each objective says which pods should go where, and why."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from poseidon.embedding import EmbeddedTrials
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
    """``move_cost``: points that a move has to save for ``LOWER_COST``; ``hot``: percent by resource from which on a
    node is hot; ``nodes``: the only ones to be freed, none for any; ``tries``: of rounds; ``most``: moves;
    ``local_data_may_go``: what pods have in folders of their nodes keeps none of them.
    """

    objective: Objective = Objective.LOWER_COST
    move_cost: float = 20.0
    hot: tuple[tuple[str, float], ...] = ()
    nodes: tuple[str, ...] = ()
    tries: int = 200
    most: int = 100
    local_data_may_go: bool = False


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
    if found.left and not any(each.name == _LOAD for each in standing.configuration.cost_models):
        notes.append(f"what single pods use is known with a cost model that looks at load, such as {_LOAD}")
    return Choice(moves, notes=tuple(notes))


def _free_nodes(standing: Standing, options: ObjectiveOptions) -> Choice:
    trials = _trials(standing, standing.running.goes)
    nodes = standing.running.nodes
    keeping = {nodes[uid] for uid in standing.staying}.union(standing.placed.values())
    known = {each.node for each in standing.plan.nodes}
    candidates = (known if not options.nodes else known & set(options.nodes)) - keeping
    found = trials.consolidate(candidates, options.tries, options.most)
    order = sorted(found.moves, key=lambda uid: (nodes[uid], uid))
    moves = tuple(Wanted(uid, found.moves[uid], f"node {nodes[uid]} is to be freed") for uid in order)
    kept = sorted((set(options.nodes) & known) - set(found.machines))
    notes = [f"node {name} cannot be freed now" for name in kept]
    notes += [f"node {name} is not known" for name in sorted(set(options.nodes) - known)]
    # Nodes that are empty already are nobody's target, and need no cordon.
    return Choice(moves, tuple(sorted({nodes[uid] for uid in order})), tuple(notes))


def _make_room(standing: Standing, options: ObjectiveOptions) -> Choice:
    """Room for the first of those who wait, in the order of their names, that some moves give it to."""
    waiting = [each.pod for each in standing.plan.pending]
    if not waiting:
        return Choice(())
    trials = _trials(standing, standing.running.goes | standing.staying)
    found = trials.room(waiting, options.tries)
    if found is None or len(found.moves) > options.most:
        return Choice((), notes=("no few moves give anyone a place who waits",))
    first = min(found.places)
    return Choice(
        tuple(Wanted(uid, target, _room_for(first, uid)) for uid, target in sorted(found.moves.items()))
    )


def _room_for(waiting: str, moved: str) -> str:
    """Say for whom a pod moves, unless that is a pod of others, whose name is not for its owners."""
    same = waiting.partition("/")[0] == moved.partition("/")[0]
    return f"makes room for {waiting}" if same else "makes room for a pod of another namespace"


def _trials(standing: Standing, goes: Collection[str]) -> EmbeddedTrials:
    now = standing.now
    return EmbeddedTrials(standing.configuration, lambda: now, standing.events, goes, standing.placed)


_CHOICES = {
    Objective.LOWER_COST: _lower_cost,
    Objective.RELIEVE_LOAD: _relieve_load,
    Objective.FREE_NODES: _free_nodes,
    Objective.MAKE_ROOM: _make_room,
}


def choose(standing: Standing, options: ObjectiveOptions) -> Choice:
    """Return the moves for an objective."""
    return _CHOICES[options.objective](standing, options)
