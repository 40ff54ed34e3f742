"""Distributes quota to waiting classes before a flow is solved: how many tasks of each may come, and in which flavors.

Classes get quota in turn: those within their own quota first, then those that borrow, by smallest share if fair
shares count. Among equals, the more important class comes first, then the one that has waited longer. A class gets
the first of its flavors that has quota left and covers machines where it fits. If the class's quota prefers not to
borrow, the class gets the first flavor in which it borrows least. The tasks that get quota become a part of their
class that may only use the machines of the chosen flavors; the flow chooses among these machines. A flow therefore
never proposes more than quotas allow.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_order import QuotaOrder, QuotaStanding
from firmament.core.constraints.remaining_quota import RemainingQuota
from firmament.core.flow.residual import Residual
from firmament.core.placement.subclasses import ClassPart
from firmament.core.ranks import group_equal_rows

MOST_SINGLE = 2_000
"""Up to this number of tasks, borrowing tasks get quota one by one.

If more borrowing tasks wait, several get quota at a time.
"""


@dataclass(slots=True)
class _Cell:
    """Kinds of machines that the same flavors of a class cover.

    ``room``: how many more tasks of the class fit on these machines.
    """

    kind: int
    """One of the kinds; quotas treat all of them alike."""
    machines: Bool
    room: int
    dealt: int = 0


@dataclass(slots=True)
class _Room:
    """How many tasks machines take of a class; classes with equal requests and machines share this value."""

    tasks: Int64
    """int64[M], how many tasks of one of the classes each machine takes if no others come."""
    places: dict[tuple[tuple[int, ...], int, int], int] = field(default_factory=dict)
    """By flavors: one cell with these flavors (its index), and how many tasks of the class fit in the cell."""


@dataclass(slots=True)
class _Claim:
    """A class that waits for quota, and the quota that it has got so far."""

    cls: int
    draw: int
    node: int
    left: int
    cells: list[_Cell] = field(default_factory=list)


def deal_quotas(residual: Residual) -> list[ClassPart]:
    """Return the tasks for which there is quota, as parts of their classes, and all tasks that draw on no quota.

    If a queue admits its tasks strictly in order, only the tasks returned may then get a place in the residual.
    """
    quotas = residual.quotas
    assert quotas is not None
    parts, claims = [], []
    draw_of = quotas.terms.draw[residual.problem.shape].tolist()
    waiting = residual.remaining.sum(axis=1).tolist()
    for cls in residual.by_importance():
        draw, left = draw_of[cls], waiting[cls]
        if draw < 0:
            parts.append(ClassPart(cls, left))
        elif not quotas.terms.draws[draw].refused:
            claims.append(_Claim(cls, draw, quotas.terms.draws[draw].node, left))
    quotas.restrict_draws({})
    dealing = _Dealing(residual, quotas.copy(), claims)
    dealing.run()
    most: dict[int, int] = {}
    for claim in claims:
        if quotas.terms.strict[claim.node]:
            most[claim.draw] = most.get(claim.draw, 0) + sum(cell.dealt for cell in claim.cells)
        for cell in claim.cells:
            if cell.dealt:
                everywhere = bool(cell.machines.all())
                parts.append(ClassPart(claim.cls, cell.dealt, None if everywhere else cell.machines))
    quotas.restrict_draws(most)
    return parts


class _Dealing:
    """Distributes quota in ``plan``, a copy of the quotas' free amounts."""

    def __init__(self, residual: Residual, plan: RemainingQuota, claims: list[_Claim]) -> None:
        self._residual, self._plan = residual, plan
        self._order = QuotaOrder(plan)
        self._claims = claims
        self._single = sum(claim.left for claim in claims) <= MOST_SINGLE
        self._followers: dict[int, list[int]] = {}
        self._waiting: list[tuple[QuotaStanding | int, int]] = []
        self._by_shares = bool(plan.terms.fair.any())
        self._open = plan.find_open().tolist()
        self._has_dealt = False
        self._rooms: dict[tuple[bytes, bytes], _Room] = {}
        self._covers: dict[tuple[int, ...], list[tuple[Int64, Bool]]] = {}

    def run(self) -> None:
        """Give quota to the class that comes next in order, until no class gets more."""
        for place in reversed(range(len(self._claims))):
            self._followers.setdefault(self._claims[place].node, []).append(place)
        for node in self._followers:
            self._enter_next(node)
        looked_at: set[int] = set()
        while self._waiting:
            _, place = heapq.heappop(self._waiting)
            claim = self._claims[place]
            found = self._find_cell(claim)
            if found is None:
                self._pass_over(claim)
                continue
            now = self._find_standing(claim, found[0])
            turn = self._find_turn(now), place
            if place not in looked_at and self._waiting and self._waiting[0] < turn:
                # quota was given to other classes since, so one of them may be ahead by now
                looked_at.add(place)
                heapq.heappush(self._waiting, turn)
                continue
            looked_at.clear()
            self._deal(claim, *found, now)
            if claim.left:
                heapq.heappush(self._waiting, turn)
            else:
                self._enter_next(claim.node)

    def _pass_over(self, claim: _Claim) -> None:
        """Let the next class of a queue compete after one that gets nothing more, unless the queue is strict."""
        if not self._plan.terms.strict[claim.node]:
            self._enter_next(claim.node)

    def _enter_next(self, node: int) -> None:
        """Let the first class of a queue that can get quota compete for it.

        In a strict queue, only the first class may compete.
        """
        places = self._followers[node]
        while places:
            place = places.pop()
            claim = self._claims[place]
            if self._has_quota(claim.draw):
                claim.cells = self._list_cells(claim)
                found = self._find_cell(claim)
                if found is not None:
                    turn = self._find_turn(self._find_standing(claim, found[0]))
                    heapq.heappush(self._waiting, (turn, place))
                    return
            if self._plan.terms.strict[node]:
                return

    def _has_quota(self, number: int) -> bool:
        """Return whether each group of resources of a draw has a flavor with enough quota left for one task."""
        if not self._open[number]:
            return False  # what had nothing left at first has nothing later
        draw = self._plan.terms.draws[number]
        return not self._has_dealt or all(
            any(self._plan.units_in(draw, group, place) for place in range(len(group.flavors)))
            for group in draw.groups
        )

    def _find_turn(self, standing: QuotaStanding) -> QuotaStanding | int:
        """Return the value that orders classes: a number, which is quick to compare, unless fair shares count."""
        return standing if self._by_shares else standing.borrows

    def _list_cells(self, claim: _Claim) -> list[_Cell]:
        """Return the machines of a class, grouped by the flavors that cover them; its first flavors come first."""
        groups = self._plan.terms.draws[claim.draw].groups
        flavors = tuple(flavor for group in groups for flavor in group.flavors)
        if flavors not in self._covers:
            self._covers[flavors] = self._part_machines(flavors)
        room = self._count_room(claim.cls)
        cells = []
        for number, (kinds, machines) in enumerate(self._covers[flavors]):
            key = flavors, number, claim.left
            places = room.places.get(key)
            if places is None:
                places = room.places[key] = int(np.minimum(room.tasks[machines], claim.left).sum())
            if places:
                cells.append(_Cell(int(kinds[0]), machines, places))
        return cells

    def _part_machines(self, flavors: tuple[int, ...]) -> list[tuple[Int64, Bool]]:
        """Return kinds of machines, and the machines, that equal subsets of ``flavors`` cover; first flavors first."""
        terms = self._plan.terms
        present = np.flatnonzero(np.bincount(terms.kind, minlength=len(terms.covers)))
        first, cell_of = group_equal_rows(~terms.covers[present][:, list(flavors)])
        parts = [present[cell_of == number] for number in range(len(first))]
        return [(kinds, np.isin(terms.kind, kinds)) for kinds in parts]

    def _count_room(self, cls: int) -> _Room:
        """Return how many tasks of a class each machine takes if quotas do not count."""
        residual, problem = self._residual, self._residual.problem
        shape = int(problem.shape[cls])
        key = problem.requests[shape].tobytes(), problem.feasible[shape].tobytes()
        alike = problem.takes_requests_alone and cls not in problem.pins
        if alike and key in self._rooms:
            return self._rooms[key]
        tasks = residual.count_fitting(
            np.full(problem.machines, shape), np.arange(problem.machines), quotas=False
        )
        room = _Room(np.where(problem.limit_to_pins(cls, problem.feasible[shape]), tasks, 0))
        if alike:
            self._rooms[key] = room
        return room

    def _find_cell(self, claim: _Claim) -> tuple[_Cell, int] | None:
        """Return the cell for the next task: the first that has quota and where the task fits; None if there is none.

        The number says how many tasks there is quota for.
        """
        sparing = self._plan.terms.is_sparing(claim.node)
        found: list[tuple[_Cell, int]] = []
        for cell in claim.cells:
            units = self._plan.units_of_kind(claim.draw, cell.kind) if cell.room > 0 else 0
            if units > 0:
                found.append((cell, units))
                if not sparing:
                    break
        if len(found) > 1:
            return min(found, key=lambda each: self._find_standing(claim, each[0]).borrows)
        return found[0] if found else None

    def _find_standing(self, claim: _Claim, cell: _Cell) -> QuotaStanding:
        return self._order.find_standing_of_one(claim.draw, cell.kind)

    def _deal(self, claim: _Claim, cell: _Cell, units: int, standing: QuotaStanding) -> None:
        """Give quota for some tasks in a cell; there is quota for ``units`` tasks."""
        self._has_dealt = True
        kind, count = cell.kind, min(claim.left, cell.room, units)
        if not standing.borrows:
            count = self._count_own(claim, kind, count)
        elif standing.shares:
            count = 1 if self._single else max(1, count // 8)
        if standing.borrows and self._plan.terms.is_sparing(claim.node):
            count = self._count_within(claim, kind, count, standing.borrows)
        self._plan.draw_on(claim.draw, kind, count)
        cell.dealt += count
        cell.room -= count
        claim.left -= count

    def _count_own(self, claim: _Claim, kind: int, most: int) -> int:
        """Return how many tasks fit without borrowing; the result is at least one and at most ``most``."""
        amounts = self._plan.list_plain_amounts(claim.draw, kind)
        if amounts is not None:
            left = (self._plan.use.get_own_left(claim.node, column) // amount for column, amount in amounts)
            return max(1, min([most, *left]))
        return self._count_within(claim, kind, most, 0)

    def _count_within(self, claim: _Claim, kind: int, most: int, height: int) -> int:
        """Return how many tasks, from one to ``most``, fit without borrowing above quota level ``height``."""
        low, high = 1, most
        while low < high:
            middle = (low + high + 1) // 2
            borrows = self._order.find_standing([(claim.draw, kind, middle)]).borrows
            low, high = (low, middle - 1) if borrows > height else (middle, high)
        return low


# --- The order of gangs by their queues' use of quota.


def list_by_quota(see: Callable[[], Residual], members: Mapping[int, Int64], waiting: Int64) -> Iterator[int]:
    """Yield gangs in the order in which they draw on quotas; equal gangs of one queue come in the given order.

    A strict queue takes part with the first of its gangs; its next gang follows after that one. ``see``: returns what
    is left of the problem now; ``members``: classes of each gang; ``waiting``: int64[C], their waiting tasks.
    """
    places = {gang: place for place, gang in enumerate(members)}
    order: QuotaOrder | None = None

    def stand(gang: int) -> tuple[QuotaStanding, int, int]:
        nonlocal order
        residual = see()
        quotas = residual.quotas
        assert quotas is not None
        draws = quotas.terms.draw[residual.problem.shape[members[gang]]].tolist()
        counts = waiting[members[gang]].tolist()
        claims = tuple((draw, count) for draw, count in zip(draws, counts, strict=True) if draw >= 0)
        found = alike.get(claims)
        if found is None:
            order = order.go_on(quotas) if order is not None else QuotaOrder(quotas)
            wanted = []
            for draw, count in claims:
                units = quotas.units_by_kind(draw)[:-1]
                wanted.append((draw, int(np.argmax(units > 0)) if len(units) else 0, count))
            found = alike[claims] = order.find_standing(wanted)
        return found, places[gang], gang

    alike: dict[tuple[tuple[int, int], ...], QuotaStanding] = {}
    queue_of = _find_strict_queues(see(), members)
    followers: dict[int, list[int]] = {}
    for gang in reversed([*members]):
        followers.setdefault(queue_of.get(gang, -1), []).append(gang)
    heads = followers.pop(-1, [])[::-1] + [queue.pop() for queue in followers.values()]
    heap = [stand(gang) for gang in heads]
    heapq.heapify(heap)
    looked_at: set[int] = set()
    while heap:
        gang = heapq.heappop(heap)[2]
        alike.clear()  # gangs may have got places since the last comparison
        now = stand(gang)
        if gang not in looked_at and heap and heap[0] < now:
            looked_at.add(gang)
            heapq.heappush(heap, now)
        else:
            looked_at.clear()
            yield gang
            if behind := followers.get(queue_of.get(gang, -1)):
                alike.clear()
                heapq.heappush(heap, stand(behind.pop()))


def _find_strict_queues(residual: Residual, members: Mapping[int, Int64]) -> dict[int, int]:
    """Return the strict queue (quota node) of each gang that is in one."""
    quotas = residual.quotas
    if quotas is None or not quotas.terms.strict.any():
        return {}
    nodes = quotas.terms.find_nodes(residual.problem.shape)
    strict = np.append(quotas.terms.strict, False)[nodes]
    return {gang: int(nodes[of[strict[of]][0]]) for gang, of in members.items() if strict[of].any()}
