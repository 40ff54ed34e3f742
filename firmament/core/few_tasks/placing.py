"""Places a few plain tasks without a network, if the result is certainly optimal.

The tasks of one shape are equal, and on each machine the next task costs at least as much as the one before. For the
shape alone, it is therefore optimal to give each task in turn to the machine where it costs least. This is also
optimal for tasks of one class that prefer to be apart from their group (``apart``). If no two of these kinds of tasks
want the same machine, the optima of all kinds hold together, since other tasks only make a machine more expensive. If
any other fact matters (rules between tasks, gangs, reservations, limits that tasks share, reports of use, tasks that
find no place), the round uses the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.firmament_policies.scarce_resources import scarce_columns
from cost_models.interface import Bool, Int64
from firmament.core.few_tasks.apart import Neighbours
from firmament.core.few_tasks.choice import AlikeTasks, MachineChoice
from firmament.core.few_tasks.first_costs import FirstCosts
from firmament.core.rules.default_spread import compile_spread
from firmament.core.rules.gangs.lifecycle import AdmittedTasks
from firmament.core.rules.registry import is_limited
from firmament.core.snapshot.grouping import RoundContext, groups_apart

MOST_TASKS = 24
"""Most tasks of a round without a network.
Up to the same number of tasks, networks contain only the machines that are needed.
"""


@dataclass(frozen=True, slots=True)
class PlacedDirectly:
    """Tasks and their machines (rows, int64[N] each), placed without a network.

    ``version``, ``of_machines``: the cluster's version and number of machines when the tasks were placed; ``units``:
    cost of the tasks in hundredths of a point; ``classes``: number of the tasks' classes, by class, priority and
    spread group.
    """

    tasks: Int64
    machines: Int64
    units: int
    classes: int
    version: int
    of_machines: int


def place_directly(
    context: RoundContext, admitted: AdmittedTasks, costs: FirstCosts, now: float
) -> PlacedDirectly | None:
    """Place all ``admitted`` tasks without a network, or return None if they need a network."""
    if not _is_plain(context, admitted):
        return None
    cluster, waiting, tasks = context.cluster, admitted.waiting, context.cluster.tasks
    scarce = scarce_columns(cluster.resources.names, cluster.machines.capacity)
    costs.drop_outdated(context, scarce)
    order = tasks.sort_by_age(waiting, tasks.cls[waiting])
    kinds = None
    if all(_wants_only_room(context, cls, costs) for cls in set(tasks.cls[waiting].tolist())):
        kinds = _divide(context, waiting[order])
    if kinds is None:
        return None
    counts = dict[int, int]()
    for kind in kinds:
        counts[kind.shape] = counts.get(kind.shape, 0) + len(kind.tasks)
    shapes = {shape: costs.get(context, shape, scarce, now) for shape in counts}
    found = {shape: each for shape, each in shapes.items() if each is not None}
    if len(found) < len(shapes):
        return None
    neighbours = _find_neighbours(context, costs, kinds, [found[kind.shape].feasible for kind in kinds])
    choice = MachineChoice(context, counts, scarce, now)
    for kind, near in zip(kinds, neighbours, strict=True):
        if not choice.add(kind, found[kind.shape].units, near):
            return None
    placed = np.array([row for kind in kinds for row in kind.tasks], dtype=np.int64)
    machines = np.array(choice.machines, dtype=np.int64)
    return PlacedDirectly(
        placed,
        machines,
        choice.units,
        _count_classes(context, placed),
        cluster.version,
        len(cluster.machines),
    )


def _is_plain(context: RoundContext, admitted: AdmittedTasks) -> bool:
    """Return whether nothing but costs, rules about machines and free capacity decides where tasks go."""
    cluster, configuration = context.cluster, context.configuration
    waiting, reservations, needs = admitted.waiting, context.reservations, configuration.needs
    few = 0 < len(waiting) <= min(MOST_TASKS, len(cluster.machines) // 2)
    others = admitted.jobs or cluster.has_promises or context.evictions.under_way
    if not few or others or reservations.held or reservations.gangs.held or reservations.gangs.sought:
        return False
    if cluster.constraining_models or configuration.pair_models:
        return False
    if cluster.machines.samples.last_change or needs.residents or needs.load or needs.arrivals:
        return False
    return all(each.model.promises.per_machine for each in configuration.models)


def _wants_only_room(context: RoundContext, cls: int, costs: FirstCosts) -> bool:
    """Return whether only free capacity and lasting rules about machines decide where tasks of a class (row) may go."""
    cluster, rules = context.cluster, context.static_rows.rules
    known = cluster.classes.rows[cls]
    content = cluster.classes.shapes[known.shape]
    if known.pinned or content.invalid or is_limited(content) or not costs.is_unruled(cluster, cls):
        return False
    return next(iter(rules.passing_refusals(cluster.machines, content)), None) is None


def _divide(context: RoundContext, waiting: Int64) -> list[AlikeTasks] | None:
    """Return the tasks by shape; tasks that prefer to be apart by class, priority and group.

    The result is None if one group has tasks of two classes, whose places would depend on each other.
    """
    cluster = context.cluster
    tasks, known = cluster.tasks, cluster.classes.rows
    of_group = dict[int, tuple[int, int, int]]()
    groups = groups_apart(context, waiting).tolist()
    members = dict[tuple[int, int], list[int]]()
    for row, group in zip(waiting.tolist(), groups, strict=True):
        cls = int(tasks.cls[row])
        by = cls, int(tasks.priority[row]), int(tasks.group_priority[row])
        if group and of_group.setdefault(group, by) != by:
            return None
        members.setdefault((known[cls].shape, group), []).append(row)
    return [AlikeTasks(shape, group, rows) for (shape, group), rows in members.items()]


def _find_neighbours(
    context: RoundContext, costs: FirstCosts, kinds: list[AlikeTasks], feasible: Sequence[Bool]
) -> Sequence[Neighbours | None]:
    """Return for each kind the running tasks of its group, None for a kind without a group.

    ``feasible``: for each kind, the machines that its tasks may use: bool[M].
    """
    none: list[Neighbours | None] = [None] * len(kinds)
    groups = np.array([kind.group for kind in kinds], dtype=np.int64)
    if not groups.any():
        return none
    terms = compile_spread(
        context.cluster,
        context.configuration.spread,
        groups,
        np.array([len(kind.tasks) for kind in kinds], dtype=np.int64),
        np.stack(feasible),
        np.arange(len(kinds)),
        costs.get_domains,
    )
    if not terms.groups:
        return none
    return [None if number < 0 else Neighbours.from_terms(terms, number) for number in terms.group.tolist()]


def _count_classes(context: RoundContext, placed: Int64) -> int:
    """Return the number of classes that a network with these tasks would have."""
    tasks = context.cluster.tasks
    columns = [tasks.cls[placed], tasks.priority[placed], tasks.group_priority[placed]]
    groups = groups_apart(context, placed).tolist()
    return len(set(zip(*[column.tolist() for column in columns], groups, strict=True)))
