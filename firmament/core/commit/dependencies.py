"""Which placements of a round wait for others that are not settled yet: the ``depends_on`` of deltas.

*Affinity*: a task that must be near another may be bound only once the other is: should that binding fail, the task
would be where nothing draws it. One settled task in the domain is enough; without any, the task waits for the first
that was placed there. (Topology spread and anti-affinity do not chain bindings: a binding that fails leaves an uneven
domain or a free place behind, which the task's next placement makes good.)

*Chains*: a ledger may say that it counts on the order of arrival (a kubelet gives each pod the lowest NUMA zone that
fits). Each placement on such a machine then depends on the one before it: of the same round, or, for the first, the
last that an earlier round placed there and that is not bound yet.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.rules.ruleset import RuleSet
from firmament.core.snapshot.snapshot import Snapshot
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase


def binding_dependencies(
    rules: RuleSet, cls: Int64, machine: Int64, uids: list[str]
) -> dict[int, tuple[str, ...]]:
    """Uids that placements wait for, by index, for those that wait for any.

    ``cls``, ``machine``: int64[N], the placements in order, in terms of the problem; ``uids`` parallel to them.
    """
    attracted = {each for each, own in rules.of.items() if own.attraction is not None}
    drawing = {
        number
        for own in rules.of.values()
        if own.attraction is not None
        for number in own.attraction.counters
    }
    if not drawing:
        return {}
    concerned = np.flatnonzero(
        np.isin(cls, [each for each, own in rules.of.items() if each in attracted or drawing & set(own.adds)])
    )
    first: dict[tuple[int, int], str] = dict(rules.unsettled)
    found: dict[int, tuple[str, ...]] = {}
    for index in concerned.tolist():
        each, at = int(cls[index]), int(machine[index])
        depends_on = _waits_for(rules, first, each, at)
        if depends_on:
            found[index] = depends_on
        for number in rules.rules(each).adds:
            domain = int(rules.counters[number].domain[at])
            if number in drawing and domain >= 0:
                first.setdefault((number, domain), uids[index])
    return found


def _waits_for(rules: RuleSet, first: dict[tuple[int, int], str], cls: int, machine: int) -> tuple[str, ...]:
    attraction = rules.rules(cls).attraction
    if attraction is None:
        return ()
    depends_on = []
    for number in attraction.counters:
        domain = int(rules.counters[number].domain[machine])
        if domain >= 0 and not rules.counters[number].settled[domain]:
            leader = first.get((number, domain))
            if leader is not None:
                depends_on.append(leader)
    return tuple(dict.fromkeys(depends_on))


def keeps_order(snapshot: Snapshot, cls: Int64, row: Int64) -> Bool:
    """bool[N]: placements that some ledger counts on reaching their machines in order.

    ``cls``, ``row``: int64[N], classes and machine rows of the snapshot's problem.
    """
    kept: Bool = np.zeros(len(cls), dtype=np.bool_)
    shapes = snapshot.problem.known_as(snapshot.problem.shape[cls])
    for ledger in snapshot.problem.ledgers:
        kept |= ledger.ordered(shapes, row)
    return kept


def chained(cluster: Cluster, tasks: Int64, ordered: Bool, came: int) -> dict[int, str]:
    """The uid that each placement waits for, by index, for those that wait.

    ``tasks``: int64[N], rows of tasks that have just been assumed, in order of admission; ``ordered``: bool[N]. Tasks
    that came after ``came`` are those of this round.
    """
    table = cluster.tasks
    indices = np.flatnonzero(ordered)
    last: dict[int, str] = {}
    if len(indices):
        earlier = table.in_state(TaskPhase.ASSUMED)
        earlier = earlier[table.came[earlier] <= came]
        earlier = earlier[np.argsort(table.came[earlier], kind="stable")]
        last = {int(table.machine[task]): table.uid[task] for task in earlier.tolist()}
    waits = {}
    for index in indices.tolist():
        task = int(tasks[index])
        at = int(table.machine[task])
        if at in last:
            waits[index] = last[at]
        last[at] = table.uid[task]
    return waits
