"""Describes queues after a plan: how many workloads are admitted or wait, and how much of each quota is used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from poseidon.bridge.state import BridgeState
from poseidon.manifests.amounts import format_amount
from poseidon.queues.model import UNLIMITED, QuotaNode
from poseidon.queues.statuses import QueueStatuses
from protos.firmament.v1 import scheduler_pb2 as pb


@dataclass(frozen=True, slots=True)
class QueueUse:
    """The used amount of a resource in a flavor of a quota, in the protocol's units."""

    flavor: str
    resource: str
    nominal: int
    used: int
    borrowed: int
    lent: int

    def format_amounts(self) -> tuple[str, str, str, str]:
        """Return the nominal, used, borrowed and lent amounts in quantities for people."""
        limit = "no limit" if self.nominal >= UNLIMITED else format_amount(self.resource, self.nominal)
        used, borrowed, lent = (
            format_amount(self.resource, each) for each in (self.used, self.borrowed, self.lent)
        )
        return limit, used, borrowed, lent


@dataclass(frozen=True, slots=True)
class PlannedQueue:
    """A queue after a plan, or a quota that several queues share."""

    queue: str
    """Name of the queue's quota, such as ``ClusterQueue/team-a``."""
    parent: str
    """Name of the quota above this one, "" for none."""
    depth: int
    """How many quotas are above the queue's quota in the tree."""
    admitted: int
    """How many workloads that take from the queue's quota have nodes."""
    waiting: int
    """How many workloads wait for the queue's quota."""
    uses: tuple[QueueUse, ...]
    """The amounts in use, by flavor and resource."""
    message: str = ""
    """Why the queue admits no workload, or "" if it admits workloads."""

    def as_json(self) -> dict[str, Any]:
        """Return the queue as the JSON object that the documents describe."""
        return {
            "queue": self.queue,
            "parent": self.parent,
            "admitted": self.admitted,
            "waiting": self.waiting,
            "uses": [asdict(each) for each in self.uses],
            "message": self.message,
        }


def plan_queues(state: BridgeState) -> tuple[PlannedQueue, ...]:
    """Return all active queues with the solver's latest figures, each queue after its parent."""
    known_queues, news = state.queues, state.queue_news
    if known_queues is None or news is None:
        return ()
    references = known_queues.list_references()
    below = _list_below(known_queues.quotas)
    found = []
    for quota, depth in _iter_tree(known_queues.quotas, below):
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
    """Yield (quota, depth in the tree), in order of names, each quota followed by the quotas ``below`` it."""
    waiting = [(name, 0) for name in reversed(below.get("", []))]
    while waiting:
        name, depth = waiting.pop()
        yield quotas[name], depth
        waiting += [(child, depth + 1) for child in reversed(below.get(name, []))]


def _list_below(quotas: Mapping[str, QuotaNode]) -> dict[str, list[str]]:
    """Return, by quota, the sorted names of the quotas directly below it.

    The key "" has the quotas without a parent.
    """
    below: dict[str, list[str]] = {}
    for name in sorted(quotas):
        below.setdefault(quotas[name].parent, []).append(name)
    return below


def _iter_uses(quota: QuotaNode, below: Iterable[str], statuses: QueueStatuses) -> Iterator[QueueUse]:
    """Yield the used amounts of a quota by flavor and resource.

    ``lent`` is the sum of what the quotas directly ``below`` it have borrowed.
    """
    reported = _find_uses(quota.name, statuses)
    lent: dict[tuple[str, str], int] = {}
    for name in below:
        for place, use in _find_uses(name, statuses).items():
            lent[place] = lent.get(place, 0) + max(use.borrowed, 0)
    stated = ((flavor, resource) for flavor, amounts in quota.nominal.items() for resource in amounts)
    for place in dict.fromkeys((*stated, *reported)):
        flavor, resource = place
        use = reported.get(place, pb.QuotaUse())
        nominal = quota.nominal.get(flavor, {}).get(resource, 0)
        yield QueueUse(flavor, resource, nominal, use.used, use.borrowed, lent.get(place, 0))


def _find_uses(name: str, statuses: QueueStatuses) -> dict[tuple[str, str], pb.QuotaUse]:
    state = statuses.states.get(name)
    return {(use.flavor, use.resource): use for use in state.uses} if state is not None else {}
