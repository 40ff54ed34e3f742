"""Cases to be judged: queues, machines and workloads before a decision, and the decisions themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

Amounts: TypeAlias = dict[str, int]
"""By resource."""
Use: TypeAlias = dict[str, Amounts]
"""By flavor and resource."""


class Workload(msgspec.Struct, frozen=True, rename="camel"):
    """A workload in a queue.

    ``queue``: its ClusterQueue; ``use``: what it draws on the queue's quota, None while it waits; ``places``: how much
    of which machine it uses, as far as that is known.
    """

    name: str
    queue: str
    priority: int = 0
    created: float = 0.0
    use: Use | None = None
    places: dict[str, Amounts] = msgspec.field(default_factory=dict)


class Admitted(msgspec.Struct, frozen=True, rename="camel"):
    """What a workload gets: its use of quota, and of machines, each None if that is not known."""

    use: Use | None = None
    places: dict[str, Amounts] | None = None


class Decision(msgspec.Struct, frozen=True, rename="camel"):
    """The workloads, by name, that are admitted, that ``comes`` once victims have left, and that are evicted."""

    admitted: dict[str, Admitted] = msgspec.field(default_factory=dict)
    comes: dict[str, Admitted] = msgspec.field(default_factory=dict)
    evicted: tuple[str, ...] | None = ()

    @property
    def given(self) -> dict[str, Admitted]:
        """All that are admitted now or come later."""
        return {**self.admitted, **self.comes}


class Case(msgspec.Struct, frozen=True, rename="camel"):
    """A case: the specs of ClusterQueues and Cohorts by name, machines, workloads, and decisions by who made them.

    Amounts in specs and elsewhere are whole numbers, in the same unit. ``fair``: whether shares decide about evictions.
    """

    name: str
    queues: dict[str, Any]
    cohorts: dict[str, Any] = msgspec.field(default_factory=dict)
    machines: dict[str, Amounts] = msgspec.field(default_factory=dict)
    workloads: tuple[Workload, ...] = ()
    decisions: dict[str, Decision] = msgspec.field(default_factory=dict)
    fair: bool = False

    @property
    def known(self) -> Mapping[str, Workload]:
        """All workloads by name."""
        return {each.name: each for each in self.workloads}
