"""A round's flow as values: classes, machines, and the tasks that went from one to the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cost_models.interface import Bool, Float64, Int64
from firmament.core.results import RoundStats


@dataclass(frozen=True, slots=True)
class RoundSummary:
    """A round that is over. ``ended``: seconds since the epoch; ``evictions``: tasks that were told to go."""

    round: int
    ended: float
    stats: RoundStats
    evictions: int


@dataclass(frozen=True, slots=True)
class FlowClass:
    """A class of the round. ``name`` is that of one of its tasks, or its uid, ``job`` the id of its job.

    ``price``: points that the round would have cost less with one of its tasks less; None where the flow had no
    prices. ``requests``: amounts of one task, by resource. ``refusals``: machines by the reason for which they could
    not take one when the round began, ``open``: how many could.
    """

    name: str
    job: str
    namespace: str
    priority: int
    tasks: int
    placed: int
    price: float | None
    requests: tuple[tuple[str, int], ...]
    refusals: tuple[tuple[str, int], ...]
    open: int


@dataclass(frozen=True, slots=True)
class RoundFlow:
    """C classes, M machines, A arcs with flow, B models.

    ``machine_price``: float64[M], points that one more place on the machine would have saved (0: nobody lacks one);
    ``machine_room``: int64[M], how many more tasks of the round's mean request fit afterwards; ``machine_saturated``:
    bool[M], machines that some waiting task could use and none of them fits any more. ``cls``, ``machine``, ``count``:
    int64[A], so many tasks of a class went to a machine, for ``cost`` points each (float64[A]), of which
    ``model_cost`` (float64[B, A]) says what each of the ``models`` charges. ``uids``: theirs, arc by arc; empty where
    nobody asked for them.
    """

    machines: Sequence[str]
    machine_price: Float64
    machine_room: Int64
    machine_saturated: Bool
    classes: tuple[FlowClass, ...]
    models: tuple[str, ...]
    cls: Int64
    machine: Int64
    count: Int64
    cost: Float64
    model_cost: Float64
    uids: Sequence[str] = ()
