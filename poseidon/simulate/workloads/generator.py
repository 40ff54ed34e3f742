"""Draws work from distributions: any amount of work, and the same work for the same seed.

The arrivals of each kind are a Poisson process. The rate of the arrivals follows from the kind's share of the offered
load. The offered load is rate times mean duration times request, divided by the cluster's capacity (Little's law).
With ``daily``, the rate follows a sine over the day, by thinning (Lewis and Shedler, 1979). With ``warm``, tasks that
would be running at the beginning arrive at that time, with their remaining run time.
"""

from __future__ import annotations

import math

import numpy as np

from poseidon.simulate.scenario.document import Generator, WorkKind
from poseidon.simulate.workloads.columns import (
    ALONE,
    Float64,
    Int64,
    Work,
    WorkTemplate,
    order_work,
    plain_template,
)

DAY = 86_400.0
MOST_TASKS = 10_000_000
"""The most tasks that are drawn; they take a gigabyte of memory."""


def template_of(kind: WorkKind) -> WorkTemplate:
    """Return the template of the tasks of a kind."""
    if not kind.pod:
        template = plain_template(kind.name, dict(kind.requests))
    else:
        template = WorkTemplate(kind.name, {key: dict(kind.pod.get(key, {})) for key in ("metadata", "spec")})
    if kind.priority is not None:
        template.manifest["spec"].setdefault("priority", kind.priority)
    return template._replace(within=kind.within, rather_within=kind.rather_within)


def generate(
    part: Generator, requests: Float64, offered: float, horizon: float, random: np.random.Generator
) -> Work:
    """Return the drawn work: the tasks that arrive before ``horizon``, in seconds.

    ``requests`` (float64[kinds]) is how much a task of each kind requests of the resource by which load is measured;
    ``offered`` is the cluster's amount of that resource, in the same unit. Raises ``ValueError`` if a kind requests
    nothing of that resource.
    """
    shares = np.array([kind.share for kind in part.kinds])
    shares = shares / shares.sum()
    columns: list[tuple[Float64, Float64, Int64, Int64]] = []
    gangs = 0
    for place, kind in enumerate(part.kinds):
        if requests[place] <= 0:
            raise ValueError(
                f"workload.generator.kinds[{place}] ({kind.name}): requests no {part.resource}, by which the load is "
                "counted; give a request, or another resource"
            )
        size = requests[place] * kind.members
        mean = kind.duration.estimate_mean()
        rate = part.load * shares[place] * offered / (size * mean)
        expected = rate * (horizon + mean) * kind.members
        if sum(len(each[0]) for each in columns) + expected > MOST_TASKS:
            raise ValueError(
                f"workload.generator: would draw about {expected:,.0f} tasks of kind {kind.name}, more than "
                f"{MOST_TASKS:,} in all; lower load or capacity, or let tasks be larger or last longer"
            )
        arrival = _draw_arrivals(rate, part.daily, horizon, random)
        duration = kind.duration.draw_durations(len(arrival), random)
        if part.warm:
            under_way = int(random.poisson(rate * mean))
            arrival = np.concatenate([np.zeros(under_way), arrival])
            duration = np.concatenate([kind.duration.draw_remaining(under_way, random), duration])
        numbers = np.full(len(arrival), ALONE, dtype=np.int64)
        if kind.members > 1:
            numbers = gangs + np.arange(len(arrival), dtype=np.int64)
            gangs += len(arrival)
        of_kind = np.full(len(arrival), place, dtype=np.int64)
        columns.append(tuple(np.repeat(each, kind.members) for each in (arrival, duration, of_kind, numbers)))  # type: ignore[arg-type]  # four in, four out
    arrival, duration, template, gang = (np.concatenate(each) for each in zip(*columns, strict=True))
    return order_work([template_of(kind) for kind in part.kinds], arrival, duration, template, gang)


def _draw_arrivals(rate: float, daily: float, horizon: float, random: np.random.Generator) -> Float64:
    """Return the times of a Poisson process, ascending, in seconds; ``rate`` is its mean per second."""
    highest = rate * (1.0 + daily)
    times = np.sort(random.random(int(random.poisson(highest * horizon))) * horizon)
    if daily:
        wanted = 1.0 + daily * np.sin(2.0 * math.pi * times / DAY)
        times = times[random.random(len(times)) * (1.0 + daily) < wanted]
    return times
