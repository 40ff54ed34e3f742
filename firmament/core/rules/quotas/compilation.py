"""Builds the quotas of a round from records, machines, and the tasks on machines.

The requests of all tasks with a machine count as used, even if the machine is unknown at present. If several flavors
cover a task's machine, no record says which of them the task took. Tasks with the fewest possible flavors are
therefore counted first, and among them the tasks that were placed first. Each counted task thus has the flavor that
was decided for it, or a flavor that suits the quotas better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_terms import Draw, DrawGroup, QuotaTerms, list_amounts
from firmament.core.constraints.quota_tree import UNBOUNDED, QuotaTree
from firmament.core.constraints.remaining_quota import RemainingQuota
from firmament.core.model import (
    PODS,
    TaskClass,
)
from firmament.core.record_kinds import (
    FLAVOR_RECORD,
    QUOTA_RECORD,
)
from firmament.core.rules.quotas.records import (
    RECLAIM,
    WITHIN,
    Amounts,
    FlavorGroup,
    QuotaPreemption,
    StatedFlavor,
    StatedQuota,
    read_flavors,
    read_quotas,
)
from firmament.core.rules.taint_toleration import mark_tolerated, tolerates
from firmament.core.state.cluster import Cluster

QUEUE = ("queue",)
"""The field of a class that names the queue whose quota its tasks use."""


MOST_DRAWS = 100_000
"""The most draws (what a task takes of its quota) that are cached; classes come and go while records stay."""


@dataclass(frozen=True)
class StatedQuotas:
    """The quotas and flavors that the records state, by name and as arrays."""

    quotas: dict[str, StatedQuota]
    """The quotas by name, including quotas with a fault."""
    flavors: dict[str, StatedFlavor]
    """The flavors by name."""

    @cached_property
    def nodes(self) -> list[StatedQuota]:
        """The quotas without fault, each after its parent."""
        sound = [quota for quota in self.quotas.values() if not quota.fault]
        return sorted(sound, key=lambda quota: (len(self._path(quota)), quota.name))

    def _path(self, quota: StatedQuota) -> list[str]:
        above = [quota.name]
        while quota.parent:
            quota = self.quotas[quota.parent]
            above.append(quota.name)
        return above

    def root_of(self, name: str) -> str:
        """Return the name of the quota at the top of a quota's tree; "" if the quota is unknown, or has a fault."""
        quota = self.quotas.get(name)
        return "" if quota is None or quota.fault else self._path(quota)[-1]

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row in ``nodes`` of each quota without fault, by name."""
        return {quota.name: row for row, quota in enumerate(self.nodes)}

    @cached_property
    def any_strict(self) -> bool:
        """Whether tasks of some valid quota get places strictly in their order (StrictFIFO)."""
        return any(quota.strict for quota in self.nodes)

    @cached_property
    def columns(self) -> dict[tuple[str, str], int]:
        """The column of each (flavor, resource) pair that some quota states."""
        stated = {
            (flavor, resource)
            for quota in self.nodes
            for group in quota.groups
            for flavor in group.flavors
            for resource in group.resources
        }
        for quota in self.nodes:
            stated |= quota.nominal.keys()
        return {pair: column for column, pair in enumerate(sorted(stated))}

    @cached_property
    def flavor_names(self) -> tuple[str, ...]:
        """The names of the flavors that occur in ``columns``, each once."""
        return tuple(dict.fromkeys(flavor for flavor, _ in self.columns))

    @cached_property
    def resource_names(self) -> tuple[str, ...]:
        """The names of the resources that occur in ``columns``, each once."""
        return tuple(dict.fromkeys(resource for _, resource in self.columns))

    @cached_property
    def tree(self) -> QuotaTree:
        """The quotas as a tree."""
        parent = np.array([self.row_of.get(quota.parent, -1) for quota in self.nodes], dtype=np.int64)

        def fill(name: str, absent: int) -> Int64:
            table = np.full((len(self.nodes), len(self.columns)), absent, dtype=np.int64)
            for row, quota in enumerate(self.nodes):
                amounts: Amounts = getattr(quota, name)
                for pair, amount in amounts.items():
                    if pair in self.columns:
                        table[row, self.columns[pair]] = amount
            return table

        return QuotaTree.build(
            parent,
            fill("nominal", 0),
            fill("lending", UNBOUNDED),
            fill("borrowing", UNBOUNDED),
            fill("limit", UNBOUNDED),
            fill("guarantee", 0),
        )

    @cached_property
    def stated(self) -> Bool:
        """bool[N, J], whether a quota states a nominal amount for the column."""
        table = np.zeros((len(self.nodes), len(self.columns)), dtype=np.bool_)
        for row, quota in enumerate(self.nodes):
            table[row, [self.columns[pair] for pair in quota.nominal]] = True
        return table

    @cached_property
    def faulty(self) -> dict[str, StatedQuota]:
        """The quotas with a fault, by name."""
        return {name: quota for name, quota in self.quotas.items() if quota.fault}

    @cached_property
    def fields(self) -> Mapping[str, Any]:
        """The fields of `QuotaTerms` that depend on records alone."""
        nodes = self.nodes
        return {
            "tree": self.tree,
            "names": tuple(quota.name for quota in nodes),
            "columns": tuple(self.columns),
            "flavor": _find_places([flavor for flavor, _ in self.columns], self.flavor_names),
            "resource": _find_places([resource for _, resource in self.columns], self.resource_names),
            "weight": np.array([quota.weight for quota in nodes], dtype=np.float64),
            "fair": np.array([quota.fair for quota in nodes], dtype=np.bool_),
            "strict": np.array([quota.strict for quota in nodes], dtype=np.bool_),
            "sparing": tuple(quota.sparing for quota in nodes),
            "evicts_first": tuple(quota.evicts_first for quota in nodes),
            "evicts_before_borrowing": tuple(quota.evicts_before_borrowing for quota in nodes),
            "same_flavor": tuple(quota.same_flavor for quota in nodes),
            "within_quota": tuple(not quota.preemption.beyond_quota for quota in nodes),
            "keeps_borrowed": tuple(not quota.reclaimable for quota in nodes),
            **_encode_policies([quota.preemption for quota in nodes]),
        }

    @cached_property
    def _draws(self) -> dict[tuple[object, ...], Draw]:
        """The draws (what a task takes of its quota) found so far, by all parts of a class on which they depend."""
        return {}

    def find_draw(self, content: TaskClass) -> Draw:
        """Return what a task of a class takes of its queue's quota, or why the queue admits no such task."""
        key = content.queue, content.requests, mark_tolerated(content), content.flavor_group
        found = self._draws.get(key)
        if found is None:
            if len(self._draws) >= MOST_DRAWS:
                self._draws.clear()
            found = self._draws[key] = self._build_draw(content)
        return found

    def _build_draw(self, content: TaskClass) -> Draw:
        quota = self.quotas.get(content.queue)
        if quota is None:
            return Draw(-1, refused=f"quota: queue {content.queue} does not exist")
        if quota.fault:
            return Draw(-1, refused=f"quota: queue {content.queue} admits nobody ({quota.fault})")
        asked = {resource: amount for resource, amount in content.requests if amount > 0}
        groups = tuple(
            self._build_draw_group(
                number, group, {name: asked[name] for name in group.resources if name in asked}, content
            )
            for number, group in enumerate(quota.groups)
            if not asked.keys().isdisjoint(group.resources)
        )
        covered = {resource for group in quota.groups for resource in group.resources} | {PODS}
        beyond = sorted(asked.keys() - covered)
        node = self.row_of[quota.name]
        if beyond and not quota.uncovered:
            return Draw(node, groups, f"quota: queue {content.queue} has no flavor for {beyond[0]}")
        if not all(group.flavors for group in groups):
            return Draw(node, groups, f"quota: no flavor of queue {content.queue} is for such a task")
        return Draw(node, groups, together=content.flavor_group)

    def _build_draw_group(
        self, number: int, group: FlavorGroup, asked: Mapping[str, int], content: TaskClass
    ) -> DrawGroup:
        known = [
            name for name in group.flavors if name in self.flavors and self._tolerates_flavor(name, content)
        ]
        return DrawGroup(
            tuple(self.flavor_names.index(name) for name in known),
            tuple(tuple(self.columns[name, resource] for resource in asked) for name in known),
            tuple(asked.values()),
            number,
        )

    def _tolerates_flavor(self, name: str, content: TaskClass) -> bool:
        """Return whether tasks of a class tolerate the taints of the flavor ``name``."""
        return all(tolerates(content, taint) for taint in self.flavors[name].marks)


def read_stated_quotas(cluster: Cluster) -> StatedQuotas:
    """Return the quotas of a cluster; they are read again only after records have changed."""

    def read() -> StatedQuotas:
        payloads = cluster.records.payloads
        return StatedQuotas(
            read_quotas(payloads.get(QUOTA_RECORD, {})), read_flavors(payloads.get(FLAVOR_RECORD, {}))
        )

    return cluster.records.read((QUOTA_RECORD, FLAVOR_RECORD), read)


def compile_quotas(cluster: Cluster, shapes: Sequence[int], without: int = -1) -> QuotaTerms | None:
    """Return the quotas for a round of ``shapes`` (rows of the shape table); None if no shape uses a quota.

    ``without``: row of a task that is not counted on its machine; -1 for none.
    """
    contents = [cluster.classes.shapes[shape] for shape in shapes]
    return build_terms(cluster, contents, without) if any(content.queue for content in contents) else None


def build_terms(cluster: Cluster, contents: Sequence[TaskClass], without: int = -1) -> QuotaTerms:
    """Return all quotas with their present use, and what a task of each of ``contents`` takes of them."""
    book, draws = read_stated_quotas(cluster), _DrawNumbers()
    draw = np.array([draws.number_draw(book, content) for content in contents], dtype=np.int64)
    residents = list(_list_residents(cluster, book, draws, without))
    kind, covers = _find_kinds(cluster, book)
    terms = QuotaTerms(
        **book.fields,
        own=np.zeros_like(book.tree.subtree),
        kind=kind,
        covers=covers,
        draws=tuple(draws.known),
        draw=draw,
    )
    return _book_residents(terms, residents)


def _find_places(names: Sequence[str], among: Sequence[str]) -> Int64:
    row_of = {name: row for row, name in enumerate(among)}
    return np.array([row_of[name] for name in names], dtype=np.int64)


def _encode_policies(stated: Sequence[QuotaPreemption]) -> dict[str, Any]:
    """Return the preemption policies of all quotas as arrays, by name of the field of `QuotaTerms`."""
    endless = np.iinfo(np.int64).max
    thresholds = [endless if each.threshold is None else each.threshold for each in stated]
    return {
        "within": np.array([WITHIN.index(each.within) for each in stated], dtype=np.int64),
        "reclaim": np.array([RECLAIM.index(each.reclaim) for each in stated], dtype=np.int64),
        "borrows": np.array([each.borrow != "Never" for each in stated], dtype=np.bool_),
        "threshold": np.array(thresholds, dtype=np.int64),
        "strategies": tuple(each.strategies for each in stated),
    }


def number_draws(cluster: Cluster, terms: QuotaTerms, classes: Sequence[int]) -> Int64:
    """Return the number in ``terms`` of what a task of each class (row) takes of quotas: int64[N].

    The number is -1 if a task takes nothing, or if ``terms`` lacks what it takes.
    """
    book = read_stated_quotas(cluster)
    number = {draw: place for place, draw in enumerate(terms.draws)}
    contents = [cluster.classes.rows[row].content for row in classes]
    found = [number.get(book.find_draw(content), -1) if content.queue else -1 for content in contents]
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
        self._of_content: dict[tuple[object, ...], int] = {}

    def number_draw(self, book: StatedQuotas, content: TaskClass) -> int:
        """Return the number of what a task of a class takes of quotas; -1: nothing."""
        if not content.queue:
            return -1
        key = content.queue, content.requests, content.flavor_group, mark_tolerated(content)
        found = self._of_content.get(key)
        if found is None:
            found = self._of_content[key] = self.known.setdefault(book.find_draw(content), len(self.known))
        return found


def _find_kinds(cluster: Cluster, book: StatedQuotas) -> tuple[Int64, Bool]:
    """Return int64[M], the kind of each machine, and bool[D, F], which flavors cover machines of each kind.

    The last kind stands for unknown machines, which every flavor may cover.
    """
    machines = cluster.machines
    covering = np.zeros((len(book.flavor_names), len(machines)), dtype=np.bool_)
    for row, name in enumerate(book.flavor_names):
        if name in book.flavors:
            covering[row] = machines.selectors().pairs(book.flavors[name].labels)
    covers, kind = np.unique(covering.T, axis=0, return_inverse=True)
    everything = np.ones((1, len(book.flavor_names)), dtype=np.bool_)
    return kind.reshape(-1).astype(np.int64), np.concatenate([covers, everything])


def _list_residents(
    cluster: Cluster, book: StatedQuotas, draws: _DrawNumbers, without: int
) -> Iterator[tuple[int, int, int]]:
    """Yield (draw, machine, number of tasks) for the tasks with machines; a draw is the number of what a task takes.

    Tasks that were placed earliest come first.

    The machine is a row; -1: the machine is unknown.
    """
    classes = cluster.classes.list_stating(QUEUE)
    tasks = cluster.tasks
    size = len(tasks.uid)
    rows = np.flatnonzero(np.isin(tasks.cls[:size], classes) & tasks.find_placed())
    rows = rows[rows != without]
    if not len(rows):
        return
    present, of = np.unique(tasks.cls[rows], return_inverse=True)
    contents = (cluster.classes.rows[row].content for row in present.tolist())
    draw = np.array([draws.number_draw(book, content) for content in contents], dtype=np.int64)[of]
    order = np.argsort(tasks.came[rows], kind="stable")
    width = len(cluster.machines) + 1
    pairs, first, count = np.unique(
        draw[order] * width + tasks.machine[rows][order] + 1, return_index=True, return_counts=True
    )
    for place in np.argsort(first, kind="stable").tolist():
        number_of, machine = divmod(int(pairs[place]), width)
        yield number_of, machine - 1, int(count[place])


def _book_residents(terms: QuotaTerms, residents: Sequence[tuple[int, int, int]]) -> QuotaTerms:
    """Return ``terms`` with the use by tasks on machines, which ``_list_residents`` gives."""
    room = RemainingQuota(terms)
    unknown = len(terms.covers) - 1
    sums: dict[tuple[int, int], int] = {}
    for draw, machine, count in residents:
        key = draw, unknown if machine < 0 else int(terms.kind[machine])
        sums[key] = sums.get(key, 0) + count

    def choice(key: tuple[int, int]) -> int:
        draw, kind = key
        covered = (terms.covers[kind, list(group.flavors)].sum() for group in terms.draws[draw].groups)
        return max((int(each) for each in covered), default=0)

    choices = {key: choice(key) for key in sums}
    _book_at_once(room, {key: count for key, count in sums.items() if choices[key] < 2})
    for draw, kind in sorted((key for key in sums if choices[key] > 1), key=choices.__getitem__):
        room.draw_on(draw, kind, sums[draw, kind])
    return replace(terms, own=room.use.own, booked=room.as_terms().booked)


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
