"""Builds the quotas of a round from records, machines, and the tasks on machines.

The requests of all tasks with a machine count as used, even if the machine is unknown at present. If several flavors
cover a task's machine, no record says which of them the task took. Tasks with the fewest possible flavors are
therefore counted first, and among them the tasks that were placed first. Each counted task thus has the flavor that
was decided for it, or a flavor that suits the quotas better.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_terms import Draw, QuotaTerms, list_amounts
from firmament.core.constraints.remaining_quota import RemainingQuota
from firmament.core.model import TaskClass
from firmament.core.ranks import group_equal_rows
from firmament.core.record_kinds import QUOTA_RECORD
from firmament.core.rules.quotas.stated_quotas import QUEUE, StatedQuotas, read_stated_quotas
from firmament.core.state.cluster import Cluster


def compile_quotas(cluster: Cluster, shapes: Sequence[int], without: int = -1) -> QuotaTerms | None:
    """Return the quotas for a round of ``shapes`` (rows of the shape table); None if no shape uses a quota.

    ``without``: row of a task that is not counted on its machine; -1 for none.
    """
    contents = [cluster.classes.shapes[shape] for shape in shapes]
    return build_terms(cluster, contents, without) if any(content.queue for content in contents) else None


def build_terms(cluster: Cluster, contents: Sequence[TaskClass], without: int = -1) -> QuotaTerms:
    """Return all quotas with their present use, and what a task of each of ``contents`` takes of them."""
    stated, draws = read_stated_quotas(cluster), _DrawNumbers()
    draw = np.array([draws.number_draw(stated, content) for content in contents], dtype=np.int64)
    residents = _list_residents(cluster, stated, draws, without)
    kind, covers = _find_kinds(cluster, stated)
    terms = QuotaTerms(
        **stated.fields,
        own=np.zeros_like(stated.tree.subtree),
        kind=kind,
        covers=covers,
        draws=tuple(draws.known),
        draw=draw,
    )
    return _book_residents(terms, *residents)


def number_draws(cluster: Cluster, terms: QuotaTerms, classes: Sequence[int]) -> Int64:
    """Return the number in ``terms`` of what a task of each class (row) takes of quotas: int64[N].

    The number is -1 if a task takes nothing, or if ``terms`` lacks what it takes.
    """
    stated = read_stated_quotas(cluster)
    number = {draw: place for place, draw in enumerate(terms.draws)}
    contents = [cluster.classes.rows[row].content for row in classes]
    found = [number.get(stated.find_draw(content), -1) if content.queue else -1 for content in contents]
    return np.array(found, dtype=np.int64)


def needs_one_flavor(cluster: Cluster, tasks: Sequence[int]) -> bool:
    """Return whether some of a gang's tasks (rows) are in a queue that gives all tasks of a class the same flavor."""
    if not cluster.records.payloads.get(QUOTA_RECORD):
        return False
    quotas = read_stated_quotas(cluster).quotas
    contents = (cluster.classes.rows[row].content for row in np.unique(cluster.tasks.cls[tasks]).tolist())
    return any(content.queue in quotas and quotas[content.queue].same_flavor for content in contents)


class _DrawNumbers:
    """Numbers what tasks take of quotas; classes whose tasks take equal amounts share a number."""

    def __init__(self) -> None:
        self.known: dict[Draw, int] = {}
        self._of_object: dict[int, tuple[Draw, int]] = {}  # by identity, as hashing a draw takes long

    def number_draw(self, stated: StatedQuotas, content: TaskClass) -> int:
        """Return the number of what a task of a class takes of quotas; -1: nothing."""
        if not content.queue:
            return -1
        draw = stated.find_draw(content)
        found = self._of_object.get(id(draw))
        if found is None:
            found = self._of_object[id(draw)] = draw, self.known.setdefault(draw, len(self.known))
        return found[1]


def _find_kinds(cluster: Cluster, stated: StatedQuotas) -> tuple[Int64, Bool]:
    """Return int64[M], the kind of each machine, and bool[D, F], which flavors cover machines of each kind.

    The last kind stands for unknown machines, which every flavor may cover.
    """
    machines = cluster.machines
    covering = np.zeros((len(stated.flavor_names), len(machines)), dtype=np.bool_)
    for row, name in enumerate(stated.flavor_names):
        if name in stated.flavors:
            covering[row] = machines.selectors().pairs(stated.flavors[name].labels)
    first, kind = group_equal_rows(covering.T)
    everything = np.ones((1, len(stated.flavor_names)), dtype=np.bool_)
    return kind, np.concatenate([covering.T[first], everything])


def _list_residents(
    cluster: Cluster, stated: StatedQuotas, draws: _DrawNumbers, without: int
) -> tuple[Int64, Int64]:
    """Return, for each task with a machine, the number of what it takes and its machine: int64[T] each.

    Tasks that were placed earliest come first. A machine is a row; -1: the machine is unknown.
    """
    classes = cluster.classes.list_stating(QUEUE)
    tasks = cluster.tasks
    size = len(tasks.uid)
    rows = np.flatnonzero(np.isin(tasks.cls[:size], classes) & tasks.find_placed())
    rows = rows[rows != without]
    rows = rows[np.argsort(tasks.arrival_number[rows], kind="stable")]
    present, of = np.unique(tasks.cls[rows], return_inverse=True)
    contents = (cluster.classes.rows[row].content for row in present.tolist())
    draw = np.array([draws.number_draw(stated, content) for content in contents], dtype=np.int64)[of]
    return draw, tasks.machine[rows].astype(np.int64)


def _book_residents(terms: QuotaTerms, draw: Int64, machine: Int64) -> QuotaTerms:
    """Return ``terms`` with the use by tasks on machines, which ``_list_residents`` gives."""
    room = RemainingQuota(terms)
    unknown, kinds = len(terms.covers) - 1, len(terms.covers)
    kind = np.append(terms.kind, unknown)[machine]
    pairs, first, count = np.unique(draw * kinds + kind, return_index=True, return_counts=True)
    order = np.argsort(first)
    sums = dict(zip(pairs[order].tolist(), count[order].tolist(), strict=True))
    choices = _count_choices(terms, sums)
    _book_at_once(room, {divmod(pair, kinds): count for pair, count in sums.items() if choices[pair] < 2})
    for pair in sorted((pair for pair in sums if choices[pair] > 1), key=choices.__getitem__):
        number, of = divmod(pair, kinds)
        room.draw_on(number, of, sums[pair])
    return replace(terms, own=room.use.own, booked=room.as_terms().booked)


def _count_choices(terms: QuotaTerms, pairs: Iterable[int]) -> dict[int, int]:
    """Return for each pair (draw times number of kinds, plus kind) from how many flavors a task there may take."""
    known: dict[tuple[tuple[int, ...], int], int] = {}
    found = {}
    for pair in pairs:
        draw, kind = divmod(pair, len(terms.covers))
        found[pair] = 0
        for group in terms.draws[draw].groups:
            key = group.flavors, kind
            if key not in known:
                known[key] = int(terms.covers[kind, list(group.flavors)].sum())
            found[pair] = max(found[pair], known[key])
    return found


def _book_at_once(room: RemainingQuota, counts: Mapping[tuple[int, int], int]) -> None:
    """Count the use of tasks, by draw and kind of machine, if the kind of machine determines the flavors."""
    terms = room.terms
    drawn = [
        (terms.draws[draw].node, column, amount * count)
        for (draw, kind), count in counts.items()
        if terms.draws[draw].node >= 0
        for column, amount in list_amounts(terms.draws[draw], terms.covers[kind])
    ]
    nodes, columns, amounts = np.array(drawn, dtype=np.int64).reshape(-1, 3).T
    room.use.add_at(nodes, columns, amounts)
