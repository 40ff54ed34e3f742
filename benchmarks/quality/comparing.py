"""Places one round of a workload by the core and by every comparator, on the same snapshot."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.comparators.base import Comparator, Contest, NotMeasuredError, Outcome, judge
from benchmarks.comparators.networks import network_comparators
from benchmarks.comparators.pod_by_pod import place_by_kept_rows, place_by_sample, place_by_score
from benchmarks.declarative.loading import Workload
from benchmarks.declarative.runner import Runner
from benchmarks.targets.algorithm import AlgorithmTarget
from firmament.configuration.document import build_core, load
from firmament.core.rounds import OpenRound, Placement
from firmament.core.snapshot.snapshot import Snapshot

OURS = "this scheduler"


def comparators() -> dict[str, Comparator]:
    """Return every comparator by name."""
    return {
        "pod by pod": place_by_score,
        "pod by pod, sampled": place_by_sample,
        "pod by pod, kept rows": place_by_kept_rows,
        **network_comparators(),
    }


class LargestRound:
    """Keeps the snapshot of the round with most placements, and the duration of that round."""

    def __init__(self) -> None:
        self.snapshot: Snapshot | None = None
        self.placement: Placement | None = None
        self.seconds = 0.0

    def __call__(self, opened: OpenRound, placement: Placement, seconds: float) -> None:
        """Compare a round with the largest so far."""
        count = int(placement.assignments.count.sum())
        if opened.snapshot is not None and (
            self.placement is None or count > int(self.placement.assignments.count.sum())
        ):
            self.snapshot, self.placement, self.seconds = opened.snapshot, placement, seconds


async def compare(
    workload: Workload, chosen: Mapping[str, Comparator], *, runs: int, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Measure the core's largest round of ``workload`` (median of ``runs``) and the chosen comparators, once each.

    Seconds are of the processor, so that a busy machine spoils no ratio; all run in this process and one thread. The
    core's are those of the whole round, the snapshot of the cluster included. Comparators are given that
    snapshot and start from there, which is in their favour.
    """
    configuration = build_core(load(None))
    rounds = []
    for _ in range(runs + 1):
        largest = LargestRound()
        target = AlgorithmTarget(configuration, timer=time.process_time, observer=largest)
        await Runner(workload, target, progress=progress).run()
        rounds.append(largest)
    best = sorted(rounds[1:], key=lambda each: each.seconds)[(runs - 1) // 2]
    if best.snapshot is None or best.placement is None:
        raise ValueError(f"workload {workload.name} places nothing in a measured round")
    contest = Contest(best.snapshot, configuration.models, workload.seed)
    ours = judge(OURS, contest, Outcome(best.placement.assignments, best.seconds))
    stats = best.placement.stats
    ours |= {
        "certified": stats.certified,
        "gap": stats.gap,
        "arcs": stats.arcs,
    }
    results = [ours]
    problem = contest.problem
    if problem.rules.of or problem.ledgers or problem.most:
        raise ValueError(
            f"workload {workload.name} has rules between pods, which the comparators do not know"
        )
    for name, comparator in chosen.items():
        progress(f"{workload.name}: {name}")
        try:
            results.append(judge(name, contest, comparator(contest)))
        except NotMeasuredError as reason:
            results.append({"name": name, "notMeasured": str(reason)})
    _relate(results)
    return {"workload": workload.name, "params": dict(workload.params), "results": results}


def _relate(results: list[dict[str, Any]]) -> None:
    """Return how many times faster the core is than each comparator, and each placement's cost relative to the
    core's.
    """
    ours = results[0]
    for each in results[1:]:
        if "seconds" in each:
            each["timesSlower"] = each["seconds"] / ours["seconds"]
            cost = ours["quality"]["cost"]
            each["costRatio"] = each["quality"]["cost"] / cost if cost else None
