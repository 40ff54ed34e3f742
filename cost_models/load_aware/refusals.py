"""Decides which machines may take which shapes under thresholds of use."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cost_models.api.arrays import any_of_row
from cost_models.interface import Bool, Float64, Int64, JointRows
from cost_models.load_aware.arguments import Settings
from cost_models.load_aware.joint_rows import EXCEEDED, Rooms, UsageRoom, joint_rows, refusal_reasons
from cost_models.load_aware.machine_use import Use
from cost_models.load_aware.task_use import RunningTasks
from cost_models.load_aware.thresholds import NO_LIMIT, Thresholds, compute_headroom

Int16: TypeAlias = NDArray[np.int16]

_OPEN, _EXPIRED, _MISSING = -1, 0, 1


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The machines that may take each shape, and why others may not.

    ``feasible``: bool[S, M]; ``causes``: int16[S, M], where not feasible the index into ``reasons``; both None if no
    machine is refused. ``joint``: limits for all admitted tasks together. ``occupied``: bool[S, M], machines that are
    refused only because of what their tasks use; None if joint rows do not say what leaving tasks give back.
    ``excess``: float64[M], percent above the threshold on each machine, for shapes that would reach a threshold on
    every possible machine and go to the least bad one.
    """

    feasible: Bool | None
    causes: Int16 | None
    reasons: tuple[str, ...]
    joint: tuple[JointRows, ...]
    occupied: Bool | None
    excess: dict[int, Float64]


def compute_rooms(use: Use, limits: Thresholds) -> Rooms:
    """Compare the use of all machines with their thresholds; return how much more use each threshold allows."""
    kinds = np.array([each.kind != "" for each in limits.aggregations], dtype=np.bool_)
    used = use.aggregate(limits.aggregations[0])
    for index, aggregation in enumerate(limits.aggregations[1:], start=1):
        rows = limits.aggregation == index
        used[rows] = use.aggregate(aggregation)[rows]
    whole = _compute_room(use, limits.whole, limits.allocatable, (used, use.estimated))
    whole = replace(whole, aggregated=kinds[limits.aggregation])
    separate = any_of_row(limits.prod > 0)
    allocatable = np.ascontiguousarray(limits.allocatable.T)
    if not separate.any():
        return Rooms(whole, whole, separate, allocatable)
    prod = _compute_room(use, limits.prod, limits.allocatable, (use.prod, use.prod_estimated))
    names = ("left", "refused", "percent", "used", "aggregated")
    merged = {name: np.where(separate, getattr(prod, name), getattr(whole, name)) for name in names}
    return Rooms(whole, replace(prod, **merged), separate, allocatable)


def judge_machines(
    space: Rooms,
    amounts: Int64,
    charged: Int64,
    kinds: tuple[Bool, Bool],
    running: RunningTasks | None,
    eligible: Iterable[Bool] | None,
    settings: Settings,
) -> Verdicts:
    """Judge every machine for every shape.

    ``amounts``: int64[S, R], the estimate of a task; ``charged``: what the task takes of the room. ``kinds``: bool[S]
    each, shapes of class koord-prod, and shapes for which thresholds count. ``running``: the tasks on machines, which
    give back room when they leave; None if they must not count. ``eligible``: per shape bool[M], the machines that no
    other rule refuses to it; None if it does not matter whether all of them are at a threshold.
    """
    prod, held = kinds[0], kinds[1].copy()
    size = len(amounts), space.separate.shape[0]
    feasible, causes = None, None
    excess: dict[int, Float64] = {}
    least = np.where(prod[:, None], _open_to_all(space.prod), _open_to_all(space.whole))
    doubtful = held & (charged > least).any(axis=1)
    candidates = iter(eligible) if eligible is not None else itertools.repeat(None)
    for shape, others in zip(range(len(amounts)), candidates, strict=False):
        if not doubtful[shape]:
            continue
        room = space.prod if prod[shape] else space.whole
        cause = _causes(room, charged[shape])
        if others is not None and others.any() and (cause[others] >= 0).all():
            cause = room.refused.astype(np.int16)
            excess[shape] = _excess(room, amounts[shape], space.allocatable)
            held[shape] = False
        if (cause >= 0).any():
            if feasible is None or causes is None:
                feasible, causes = np.ones(size, dtype=np.bool_), np.full(size, -1, dtype=np.int16)
            feasible[shape], causes[shape] = cause < 0, cause
    bound = np.where(held[:, None], charged, 0)
    joint = joint_rows(space, bound, (prod, held), running, settings)
    occupied = None if running is None or causes is None else causes >= EXCEEDED
    return Verdicts(feasible, causes, refusal_reasons(settings), joint, occupied, excess)


def _compute_room(use: Use, percent: Int64, allocatable: Int64, used: tuple[Int64, Int64]) -> UsageRoom:
    """Return how much more may be used below ``percent`` of ``allocatable``. ``used``: the use by reports, and by
    estimates alone.

    Without thresholds, use has no limit. Where the report is too old, absent or without figures, the configuration
    decides whether the machine is refused or accepts everything.
    """
    settings = use.settings
    expired = use.load.reported & ~use.fresh
    unknown = ~use.measured | expired
    refused = np.full(len(percent), _OPEN, dtype=np.int8)
    ignored = np.zeros_like(unknown)
    if settings.missing == "upstream":
        expired &= settings.filter_expired
        if not settings.pass_expired:
            refused[expired] = _EXPIRED
        ignored = ~use.measured | (expired & settings.pass_expired)
    elif settings.missing == "failOpen":
        ignored = unknown
    elif settings.missing == "failClosed":
        refused[unknown] = np.where(expired[unknown], _EXPIRED, _MISSING)
    estimated = unknown if settings.missing == "estimate" else np.zeros_like(unknown)
    held = np.where(estimated[:, None], used[1], used[0]) if estimated.any() else used[0]
    refused[~any_of_row(percent > 0)] = _OPEN
    left = compute_headroom(percent, allocatable, held, settings.rounding)
    left[ignored] = NO_LIMIT
    return UsageRoom(
        left=np.ascontiguousarray(left.T),
        refused=refused,
        percent=np.ascontiguousarray(percent.T),
        used=np.ascontiguousarray(held.T),
        aggregated=np.zeros(len(percent), dtype=np.bool_),
        estimated=estimated,
    )


def _open_to_all(room: UsageRoom) -> Int64:
    """Return the amounts up to which every machine takes a task: int64[R], negative if some machine takes none."""
    if (room.refused >= 0).any() or not room.left.shape[1]:
        return np.full(len(room.left), -1, dtype=np.int64)
    return room.left.min(axis=1)


def _causes(room: UsageRoom, amounts: Int64) -> Int16:
    """Return the index into ``_reasons`` of the first cause that refuses a machine, -1 for none: int16[M]."""
    cause = room.refused.astype(np.int16)
    for position, amount in enumerate(amounts.tolist()):
        exceeded = (room.left[position] < amount) & (cause < 0)
        if exceeded.any():
            cause[exceeded] = EXCEEDED + 2 * position + room.aggregated[exceeded]
    return cause


def _excess(room: UsageRoom, amounts: Int64, allocatable: Int64) -> Float64:
    """Return by how many percent of the machine the worst resource would exceed its threshold: float64[M]."""
    total = (room.used + amounts[:, None]) * 100.0
    share = np.divide(total, allocatable, out=np.zeros_like(total), where=allocatable > 0)
    over = np.where((room.percent > 0) & (allocatable > 0), share - room.percent, 0.0)
    return np.maximum(over.max(axis=0, initial=0.0), 0.0)
