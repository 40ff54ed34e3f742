"""Draws the network of a round as a picture, if the round is small enough to be read."""

from __future__ import annotations

from firmament.core.flow.column_generation import GenerationOptions, optimal_flow
from firmament.core.flow.residual import Residual
from firmament.core.flow.tuning import FlowTuning
from firmament.core.snapshot.snapshot import Snapshot
from firmament.pictures.drawing import draw
from firmament.solvers.base import Solver
from protos.conventions.number_formats import format_count

MOST_CLASSES = 8
MOST_MACHINES = 30
"""The largest numbers that are drawn, because nobody could follow more lines."""

_LONGEST = 14
"""The most characters of a name in a box."""

NOTE = "At lines: cost in points, in brackets the flow."


def draw_round(snapshot: Snapshot, solver: Solver, title: str) -> str:
    """Return the SVG of a round's network, as before any placement, with its cheapest flow.

    Raise ``ValueError`` if the network is too large to be drawn, or no task could go anywhere.
    """
    problem, names = snapshot.problem, snapshot.machine_names
    classes = [_shorten(snapshot.uids[each]) for each in snapshot.first.tolist()]
    if len(classes) > MOST_CLASSES or len(names) > MOST_MACHINES:
        raise ValueError(
            f"a network of {len(classes)} kinds of tasks and {format_count(len(names), 'machine')} is too large "
            f"to be drawn; at most {MOST_CLASSES} and {MOST_MACHINES} can be"
        )
    residual = Residual(problem)
    fits = {shape: residual.find_fitting(shape) for shape in problem.shape.tolist()}
    outcome = optimal_flow(residual, fits, solver, GenerationOptions(), FlowTuning())
    if outcome is None:
        raise ValueError("no task of the round could go anywhere, so there is no network to draw")
    return draw(outcome, classes, [_shorten(each) for each in names], title, NOTE)


def _shorten(name: str) -> str:
    """Return a name without its namespace, short enough for a box."""
    own = name.rpartition("/")[2]
    return own if len(own) <= _LONGEST else f"{own[: _LONGEST - 1]}…"
