"""Chooses the moments of a simulated cluster at which ``--when`` is asked, and a few pods for each moment.

Pods that wait at one moment wait for the same jobs, so their errors depend on each other; many answers of one moment
tell little more than a few. So no pod is asked twice, and the pods of a moment are of as many kinds as possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.expected_starts.truth import Moment, note_moment
from poseidon.simulate.engine import Simulation
from poseidon.simulate.workloads.columns import Int64

HOUR = 3600.0
STEP = 900.0
"""Seconds between two moments that may be chosen."""


class Question(NamedTuple):
    """A moment, and the tasks whose start is predicted at this moment."""

    moment: Moment
    asked: Int64
    """The tasks; one task per gang."""


class Sample(NamedTuple):
    """How many questions are asked of one cluster, and when."""

    moments: int
    """Most moments."""
    answers: int
    """Most tasks that are asked at one moment."""
    hours: tuple[int, int]
    """From when to when is asked, after the beginning."""


def let_happen(simulation: Simulation, sample: Sample, seed: int) -> list[Question]:
    """Run a simulation until all tasks in question have begun or no further task arrives; return the questions.

    The chosen moments are equally far apart in the time in which tasks wait. When no further task arrives, the cluster
    empties, and tasks that others have kept overtaking begin; nobody can expect that.
    """
    moments = []
    for when in np.arange(sample.hours[0] * HOUR, sample.hours[1] * HOUR + 1.0, STEP).tolist():
        simulation.run(until=when)
        simulation.clock.now = when
        moments.append(note_moment(simulation))
    questions = choose_questions(moments, simulation.tasks.work.template, sample, seed)
    everything = np.concatenate([np.zeros(0, dtype=np.int64), *(each.asked for each in questions)])
    last = float(simulation.tasks.work.arrival[-1])
    simulation.run(until=last, stop=lambda: bool((simulation.tasks.first_begun[everything] >= 0.0).all()))
    return questions


def choose_questions(moments: Sequence[Moment], kinds: Int64, sample: Sample, seed: int) -> list[Question]:
    """Return the questions of a cluster; ``kinds``: int64[N], kind of each task."""
    random = np.random.default_rng(seed)
    busy = [each for each in moments if len(each.waiting)]
    places = np.unique(np.linspace(0, len(busy) - 1, min(sample.moments, len(busy))).round().astype(np.int64))
    questions: list[Question] = []
    known = np.zeros(0, dtype=np.int64)
    for moment in (busy[place] for place in places.tolist()):
        asked = choose_tasks(np.setdiff1d(moment.waiting, known), kinds, sample.answers, random)
        if len(asked):
            known = np.union1d(known, asked)
            questions.append(Question(moment, asked))
    return questions


def choose_tasks(waiting: Int64, kinds: Int64, most: int, random: np.random.Generator) -> Int64:
    """Return up to ``most`` tasks drawn from ``waiting``: of each kind one, then of each kind a second, and so on."""
    drawn = random.permutation(waiting)
    order = np.argsort(kinds[drawn], kind="stable")
    kind = kinds[drawn][order]
    turn = np.arange(len(kind)) - np.searchsorted(kind, kind)
    first = np.argsort(turn + random.random(len(kind)), kind="stable")[:most]
    return np.sort(drawn[order][first])
