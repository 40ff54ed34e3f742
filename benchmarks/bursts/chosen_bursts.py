"""Runs a selection of bursts with several seeds each, and compares them with the same bursts without the overlay."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from benchmarks.bursts.burst import Outcome, run_burst
from benchmarks.bursts.scenario import ANYTHING, EXACTLY, HALF, Burst, Profile, Scheduling

PROFILES: dict[str, Profile] = {
    "exactly the estimate": EXACTLY,
    "half the estimate to all": HALF,
    "nothing to the estimate": ANYTHING,
}
"""Range of the share of its estimate that a new pod uses, by the profile's name in tables."""

NOISE = 0.2
DEVIATION = 12.0
"""Standard deviation in percent: noise that is uniform within 20 % has 20 / sqrt(3) = 11.5 %."""

ALIKE_DEVIATION = 21.0
"""Standard deviation in percent if pods of a kind vary together: sqrt(3) times more, as three of a kind share a
node.
"""

DARK = 0.1
"""Share of nodes without metrics, and equal share of nodes with old metrics."""

SHOWN = (
    "above",
    "worst",
    "spread",
    "open_spread",
    "placement",
    "floor",
    "estimated_floor",
    "one_by_one",
    "pending",
)
"""Figures of ``Outcome`` for which tables show median and worst over the seeds."""

HEAVY = 10
"""Weight with which the overlay outweighs the base policy, as the documentation recommends."""


def standard_bursts(nodes: int, pods: int) -> dict[str, Burst]:
    """Return the bursts by label: each profile, with and without noise, dark nodes and the overlay."""
    bursts: dict[str, Burst] = {}
    for name, profile in PROFILES.items():
        plain = Burst(nodes=nodes, pods=pods, profile=profile, weight=HEAVY)
        bursts |= _lit(name, plain)
        bursts[f"{name}: overlay, weight 1"] = replace(plain, weight=1)
        if profile == ANYTHING:
            continue
        bursts |= _dark(name, plain)
        noisy = replace(plain, noise=NOISE, deviation=DEVIATION)
        bursts |= _lit(f"{name}, noise", noisy) | _dark(f"{name}, noise", noisy)
        closed = replace(noisy, missing=DARK, stale=DARK, mode="failClosed")
        alike = replace(closed, alike=True, deviation=ALIKE_DEVIATION)
        bursts |= {
            f"{name}, noise: dark, fail-closed, no margin": replace(closed, deviation=0.0),
            f"{name}, noise of kinds: dark, fail-closed": alike,
        }
    return bursts


def _lit(name: str, burst: Burst) -> dict[str, Burst]:
    """Return the bursts with metrics of all nodes."""
    return {
        f"{name}: by requests": _run_without_overlay(burst, "requests"),
        f"{name}: default": _run_without_overlay(burst, "default"),
        f"{name}: overlay": burst,
    }


def _dark(name: str, burst: Burst) -> dict[str, Burst]:
    """Return the bursts in which some nodes have no metrics, and others old ones."""
    dark = replace(burst, missing=DARK, stale=DARK)
    return {
        f"{name}: dark, default": _run_without_overlay(dark, "default"),
        f"{name}: dark, fail-closed": replace(dark, mode="failClosed"),
        f"{name}: dark, by estimates": replace(dark, mode="estimate"),
    }


def _run_without_overlay(burst: Burst, scheduling: Scheduling) -> Burst:
    """Return a copy of the burst whose configuration lacks the overlay ``load_threshold``."""
    plain = replace(burst, scheduling=scheduling, mode="upstream", weight=1, deviation=0.0)
    # Scheduling by requests does not use metrics.
    return replace(plain, missing=0.0, stale=0.0) if scheduling == "requests" else plain


def measure_bursts(
    bursts: Mapping[str, Burst], seeds: Sequence[int], progress: Callable[[str], None]
) -> dict[str, Any]:
    """Run every burst with every seed, one after another; return what ``-o json`` prints."""
    outcomes: dict[str, list[Outcome]] = {}
    for label, burst in bursts.items():
        progress(label)
        outcomes[label] = [run_burst(replace(burst, seed=seed)) for seed in seeds]
    return {"seeds": list(seeds), "bursts": summaries(bursts, outcomes)}


def summaries(bursts: Mapping[str, Burst], outcomes: Mapping[str, Sequence[Outcome]]) -> list[dict[str, Any]]:
    """Return an entry per burst: median and worst over its seeds, and ratios of spreads, seed by seed.

    ``against_requests``, ``against_default``: the spread in relation to that of the same burst without the overlay.
    """
    return [
        {
            "label": label,
            "burst": asdict(burst),
            "runs": [asdict(each) for each in outcomes[label]],
            **{name: _both([getattr(each, name) for each in outcomes[label]]) for name in SHOWN},
            "against_requests": _ratio(label, _run_without_overlay(burst, "requests"), bursts, outcomes),
            "against_default": _ratio(label, _run_without_overlay(burst, "default"), bursts, outcomes),
        }
        for label, burst in bursts.items()
    ]


def _ratio(
    label: str, other: Burst, bursts: Mapping[str, Burst], outcomes: Mapping[str, Sequence[Outcome]]
) -> dict[str, float] | None:
    """Return the median and the worst ratio of the spread to the spread of the burst ``other``; None if that was not
    run."""
    found = next((name for name, burst in bursts.items() if burst == other), None)
    if found is None:
        return None
    pairs = zip(outcomes[label], outcomes[found], strict=True)
    return _both([one.spread / max(base.spread, 1e-9) for one, base in pairs])


def _both(values: Sequence[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "worst": max(values)}
