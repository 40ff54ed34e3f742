"""How a round places its tasks: groups by their rules, like classes as one, gangs as a whole, and last those for whom
others have to move.
"""

from __future__ import annotations

from dataclasses import replace

from firmament.core.flow.problem import PlacementProblem
from firmament.core.placement.class_aggregation import bundled
from firmament.core.placement.gang_admission import place_whole_gangs
from firmament.core.placement.local_search.relocation import improved
from firmament.core.placement.outcome import Means, Placed
from firmament.core.placement.priority_tiers import place_by_priority
from firmament.core.placement.tree_groups.groups import place_with_groups


def place(problem: PlacementProblem, means: Means) -> Placed:
    """Place what can be placed, in order of admission. Raises what the solver raises, time-outs excepted."""
    if problem.topology is not None:
        return place_with_groups(problem, problem.topology, means, place)
    if len(problem.gang_need):
        return place_whole_gangs(problem, means)
    watch = means.stopwatch()
    bundle = bundled(problem)
    bundling = watch.seconds()
    placed, residual = place_by_priority(bundle.problem, means)
    watch = means.stopwatch()
    found = placed.assignments
    if residual.remaining.any() and not (problem.pairs is not None and problem.pairs.steers):
        found = improved(bundle.problem, found, problem.rotation, means.tuning.relocation)
    found = bundle.dealt_out(found)
    return replace(placed.admitted(found, bundling + watch.seconds()), about=bundle)
