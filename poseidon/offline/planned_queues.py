"""Describes the queues of an input after a plan: who has been admitted, who waits, and what is used of each quota."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from poseidon.bridge.state import BridgeState
from poseidon.queues.model import QuotaNode
from poseidon.queues.statuses import QueueStatuses
from protos.firmament.v1 import scheduler_pb2 as pb


@dataclass(frozen=True, slots=True)
class QueueUse:
    """What is used of a resource in a flavor, in the protocol's units."""

    flavor: str
    resource: str
    nominal: int
    used: int
    borrowed: int
    lent: int


@dataclass(frozen=True, slots=True)
class PlannedQueue:
    """A queue, or what several queues share."""

    queue: str
    """Name of its quota, such as ``ClusterQueue/team-a``."""
    parent: str
    """Name of the quota above it, "" for none."""
    depth: int
    """How many quotas are above it."""
    admitted: int
    """Workloads that draw on it and have places."""
    waiting: int
    """Workloads that draw on it and wait."""
    uses: tuple[QueueUse, ...]
    """What is used of it, by flavor and resource."""
    message: str = ""
    """Why it admits nothing, "" if it does."""

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        return {
            "queue": self.queue,
            "parent": self.parent,
            "admitted": self.admitted,
            "waiting": self.waiting,
            "uses": [asdict(each) for each in self.uses],
            "message": self.message,
        }


def plan_queues(state: BridgeState) -> tuple[PlannedQueue, ...]:
    """Return all queues in force, each after the one above it, with the latest figures of the solver."""
    book, news = state.queues, state.queue_news
    if book is None or news is None:
        return ()
    references = book.list_references()
    below = _list_below(book.quotas)
    found = []
    for quota, depth in _iter_tree(book.quotas, below):
        counts = news.statuses.count_workloads(references.get(quota.name, []))
        found.append(
            PlannedQueue(
                quota.name,
                quota.parent,
                depth,
                counts.admitted,
                counts.pending,
                tuple(_iter_uses(quota, below.get(quota.name, ()), news.statuses)),
                quota.problem,
            )
        )
    return tuple(found)


def _iter_tree(
    quotas: Mapping[str, QuotaNode], below: Mapping[str, Sequence[str]]
) -> Iterator[tuple[QuotaNode, int]]:
    """Yield quotas by name, each followed by those ``below`` it, with how many are above each."""
    waiting = [(name, 0) for name in reversed(below.get("", []))]
    while waiting:
        name, depth = waiting.pop()
        yield quotas[name], depth
        waiting += [(child, depth + 1) for child in reversed(below.get(name, []))]


def _list_below(quotas: Mapping[str, QuotaNode]) -> dict[str, list[str]]:
    """Return the names of the quotas directly below each, in their order; "" has those below none."""
    below: dict[str, list[str]] = {}
    for name in sorted(quotas):
        below.setdefault(quotas[name].parent, []).append(name)
    return below


def _iter_uses(quota: QuotaNode, below: Iterable[str], statuses: QueueStatuses) -> Iterator[QueueUse]:
    """Yield what is used of a quota. What is lent is what the quotas directly ``below`` it have borrowed."""
    told = _find_uses(quota.name, statuses)
    lent: dict[tuple[str, str], int] = {}
    for name in below:
        for place, use in _find_uses(name, statuses).items():
            lent[place] = lent.get(place, 0) + max(use.borrowed, 0)
    stated = ((flavor, resource) for flavor, amounts in quota.nominal.items() for resource in amounts)
    for place in dict.fromkeys((*stated, *told)):
        flavor, resource = place
        use = told.get(place, pb.QuotaUse())
        nominal = quota.nominal.get(flavor, {}).get(resource, 0)
        yield QueueUse(flavor, resource, nominal, use.used, use.borrowed, lent.get(place, 0))


def _find_uses(name: str, statuses: QueueStatuses) -> dict[tuple[str, str], pb.QuotaUse]:
    state = statuses.states.get(name)
    return {(use.flavor, use.resource): use for use in state.uses} if state is not None else {}
