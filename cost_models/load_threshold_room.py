"""Which machines thresholds of use leave open to which shapes, and joint rows for what tasks of one round add up to."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Float64, Int64, JointRows, Load, MachineColumns, Returned
from cost_models.load_threshold_arguments import Settings
from cost_models.load_threshold_limits import NO_LIMIT, Thresholds, headroom
from cost_models.load_threshold_use import Given, Use, aggregated

Int8: TypeAlias = NDArray[np.int8]
Int16: TypeAlias = NDArray[np.int16]

EXPIRED = "node(s) nodeMetric expired"
MISSING = "node(s) nodeMetric missing"

_OPEN, _EXPIRED, _MISSING, _EXCEEDED = -1, 0, 1, 2


@dataclass(frozen=True, slots=True)
class Room:
    """What machines can still take by one set of thresholds.

    ``left``: int64[R, M], how much more may be used, ``NO_LIMIT`` without a threshold. ``refused``: int8[M], 0: the
    last report is too old, 1: there is none, -1: neither matters. ``percent``, ``used``: int64[R, M], the thresholds
    and the use that they are held against. ``aggregated``: bool[M], that is use over a period. ``estimated``: bool[M],
    that is estimates alone, for want of a report.
    """

    left: Int64
    refused: Int8
    percent: Int64
    used: Int64
    aggregated: Bool
    estimated: Bool


@dataclass(frozen=True, slots=True)
class Rooms:
    """``whole``: for tasks that are not of class koord-prod; ``prod``: for those that are. They differ on the machines
    where ``separate`` (bool[M]), which have thresholds for prod tasks. ``allocatable``: int64[R, M].
    """

    whole: Room
    prod: Room
    separate: Bool
    allocatable: Int64


@dataclass(frozen=True, slots=True)
class Verdicts:
    """``feasible``: bool[S, M]; ``causes``: int16[S, M], index into ``reasons`` where not. ``joint``: what admitted
    tasks add up to; ``occupied``: bool[S, M], machines refused for nothing but what tasks there use, None if joint rows
    do not say what comes back. ``excess``: by shape that would reach a threshold wherever it could go, and goes to the
    least bad machine: percent above the threshold that each machine would reach, float64[M].
    """

    feasible: Bool
    causes: Int16
    reasons: tuple[str, ...]
    joint: tuple[JointRows, ...]
    occupied: Bool | None
    excess: dict[int, Float64]


def rooms(machines: MachineColumns, load: Load, use: Use, limits: Thresholds, settings: Settings) -> Rooms:
    """Hold the use of all machines against their thresholds."""
    kinds = np.array([each.kind != "" for each in limits.aggregations], dtype=np.bool_)
    used = aggregated(machines, load, use, settings, limits.aggregations[0])
    for index, aggregation in enumerate(limits.aggregations[1:], start=1):
        rows = limits.aggregation == index
        used[rows] = aggregated(machines, load, use, settings, aggregation)[rows]
    whole = _room(load, use, limits.whole, limits.allocatable, (used, use.estimated), settings)
    prod = _room(load, use, limits.prod, limits.allocatable, (use.prod, use.prod_estimated), settings)
    whole = replace(whole, aggregated=kinds[limits.aggregation])
    separate: Bool = np.asarray((limits.prod > 0).any(axis=1))
    return Rooms(whole, _merged(separate, prod, whole), separate, np.ascontiguousarray(limits.allocatable.T))


def verdicts(
    space: Rooms,
    amounts: Int64,
    charged: Int64,
    kinds: tuple[Bool, Bool],
    given: Given | None,
    eligible: Iterable[Bool] | None,
    settings: Settings,
) -> Verdicts:
    """Judge every machine for every shape.

    ``amounts``: int64[S, R], the estimate of a task; ``charged``: what it takes of the room. ``kinds``: bool[S] each,
    shapes of class koord-prod, and those to which thresholds count. ``given``: what goes with each task that is on a
    machine, None if that is not to count. ``eligible``: per shape bool[M], machines that
    could take a task otherwise, None where it does not matter whether all of them are at a threshold.
    """
    prod, held = kinds[0], kinds[1].copy()
    shapes, count = len(amounts), space.separate.shape[0]
    feasible = np.ones((shapes, count), dtype=np.bool_)
    causes = np.full((shapes, count), -1, dtype=np.int16)
    excess: dict[int, Float64] = {}
    open_to_all = {True: _open_to_all(space.prod), False: _open_to_all(space.whole)}
    candidates = iter(eligible) if eligible is not None else itertools.repeat(None)
    for shape, others in zip(range(shapes), candidates, strict=False):
        if not held[shape] or (charged[shape] <= open_to_all[bool(prod[shape])]).all():
            continue
        room = space.prod if prod[shape] else space.whole
        cause = _causes(room, charged[shape])
        if others is not None and others.any() and (cause[others] >= 0).all():
            cause = room.refused.astype(np.int16)
            excess[shape] = _excess(room, amounts[shape], space.allocatable)
            held[shape] = False
        causes[shape] = cause
        feasible[shape] = cause < 0
    bound = np.where(held[:, None], charged, 0)
    joint = _joint(space, bound, prod, given, settings)
    occupied = None if given is None or feasible.all() else causes >= _EXCEEDED
    return Verdicts(feasible, causes, _reasons(settings), joint, occupied, excess)


def _room(
    load: Load,
    use: Use,
    percent: Int64,
    allocatable: Int64,
    used: tuple[Int64, Int64],
    settings: Settings,
) -> Room:
    """Room by ``percent`` of ``allocatable`` beside what is ``used`` by reports, and by estimates alone.

    Without any threshold nothing else is looked at. A report that is too old refuses the machine or lets everything
    pass; so does none at all, or one without figures, as the configuration says.
    """
    expired = load.reported & ~use.fresh
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
    held = np.where(estimated[:, None], used[1], used[0])
    refused[~(percent > 0).any(axis=1)] = _OPEN
    left = headroom(percent, allocatable, held, settings.rounding)
    left[ignored] = NO_LIMIT
    return Room(
        left=np.ascontiguousarray(left.T),
        refused=refused,
        percent=np.ascontiguousarray(percent.T),
        used=np.ascontiguousarray(held.T),
        aggregated=np.zeros(len(percent), dtype=np.bool_),
        estimated=estimated,
    )


def _merged(where: Bool, one: Room, other: Room) -> Room:
    """``one`` for the machines in ``where``, ``other`` for the rest."""
    return Room(
        left=np.where(where, one.left, other.left),
        refused=np.where(where, one.refused, other.refused),
        percent=np.where(where, one.percent, other.percent),
        used=np.where(where, one.used, other.used),
        aggregated=np.where(where, one.aggregated, other.aggregated),
        estimated=one.estimated,
    )


def _open_to_all(room: Room) -> Int64:
    """Up to which amounts every machine takes a task: int64[R], less than 0 if some machine takes none."""
    if (room.refused >= 0).any() or not room.left.shape[1]:
        return np.full(len(room.left), -1, dtype=np.int64)
    least: Int64 = room.left.min(axis=1)
    return least


def _causes(room: Room, amounts: Int64) -> Int16:
    """Index into ``_reasons`` of the first cause by which a machine is refused, -1 for none: int16[M]."""
    cause = room.refused.astype(np.int16)
    for position, amount in enumerate(amounts.tolist()):
        exceeded = (room.left[position] < amount) & (cause < 0)
        if exceeded.any():
            cause[exceeded] = _EXCEEDED + 2 * position + room.aggregated[exceeded]
    return cause


def _reasons(settings: Settings) -> tuple[str, ...]:
    reasons = [EXPIRED, MISSING]
    for name in settings.known:
        reasons += [
            f"node(s) {name} usage exceed threshold",
            f"node(s) {name} aggregated usage exceed threshold",
        ]
    return tuple(reasons)


def _excess(room: Room, amounts: Int64, allocatable: Int64) -> Float64:
    """By how many percent of what a machine offers the worst resource would exceed its threshold: float64[M]."""
    total = (room.used + amounts[:, None]) * 100.0
    share = np.divide(total, allocatable, out=np.zeros_like(total), where=allocatable > 0)
    over = np.where((room.percent > 0) & (allocatable > 0), share - room.percent, 0.0)
    worst: Float64 = np.maximum(over.max(axis=0, initial=0.0), 0.0)
    return worst


def _joint(
    space: Rooms, amounts: Int64, prod: Bool, given: Given | None, settings: Settings
) -> tuple[JointRows, ...]:
    """One row per machine, resource and set of thresholds, where there is a limit and some task to be held to it."""
    reasons = _reasons(settings)
    every = np.arange(len(space.separate), dtype=np.int64)
    rows = []
    for room, machines, shapes, column in _parts(space, prod):
        for position, left in enumerate(room.left):
            amount = np.where(shapes, amounts[:, position], 0)
            limited = machines & (left < NO_LIMIT // 2)
            if limited.any() and amount.any():
                limit = np.where(limited, np.maximum(left, 0), 0)
                owed = np.where(limited, np.maximum(-left, 0), 0)
                reason = reasons[_EXCEEDED + 2 * position + column]
                back = (
                    None if given is None else _returned(given, position, room, owed, prod=room is space.prod)
                )
                rows.append(JointRows(np.where(limited, every, -1), amount, limit, reason, back))
    return tuple(rows)


def _returned(given: Given, position: int, room: Room, owed: Int64, *, prod: bool) -> Returned:
    """What tasks that leave give back of a resource, after ``owed``."""
    known, guessed = (given.prod, given.prod_estimated) if prod else (given.beyond, given.estimated)
    by_task = np.where(room.estimated[given.machine], guessed[position], known[position])
    return Returned(owed, by_task=by_task.astype(np.int64))


def _parts(space: Rooms, prod: Bool) -> Iterator[tuple[Room, Bool, Bool, int]]:
    """Which machines hold which shapes to which room; 1 for use over a period."""
    all_shapes = np.ones_like(prod)
    for column in (0, 1):
        alike = space.whole.aggregated == bool(column)
        yield space.whole, ~space.separate & alike, all_shapes, column
        yield space.whole, space.separate & alike, ~prod, column
    yield space.prod, space.separate, prod, 0
