"""The bursts that are of interest, each run with several seeds, and held against the same without the overlay."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from benchmarks.burst import ANYTHING, EXACTLY, HALF, Burst, Outcome, Profile, run_burst

PROFILES: dict[str, Profile] = {
    "exactly the estimate": EXACTLY,
    "half the estimate to all": HALF,
    "nothing to the estimate": ANYTHING,
}
"""What new pods really use, by what it is called in tables."""

NOISE = 0.2
DARK = 0.1
"""Part of the nodes without metrics, and as many with old ones."""

HEAVY = 10
"""A weight by which the overlay outweighs the base policy."""


def standard_bursts(nodes: int, pods: int) -> dict[str, Burst]:
    """The bursts by label. Profiles other than "anything" also with noise, and with dark nodes in both modes."""
    bursts: dict[str, Burst] = {}
    for name, profile in PROFILES.items():
        plain = Burst(nodes=nodes, pods=pods, profile=profile)
        bursts |= {
            f"{name}: by requests": replace(plain, scheduling="requests"),
            f"{name}: default": replace(plain, scheduling="default"),
            f"{name}: overlay": plain,
            f"{name}: overlay, weight {HEAVY}": replace(plain, weight=HEAVY),
        }
        if profile == ANYTHING:
            continue
        noisy = replace(plain, noise=NOISE)
        bursts |= {
            f"{name}, noise: by requests": replace(noisy, scheduling="requests"),
            f"{name}, noise: default": replace(noisy, scheduling="default"),
            f"{name}, noise: overlay": noisy,
        }
        for label, burst in {"": plain, ", noise": noisy}.items():
            dark = replace(burst, missing=DARK, stale=DARK)
            bursts |= {
                f"{name}{label}: overlay, fail-closed": replace(dark, mode="failClosed"),
                f"{name}{label}: overlay, by estimates": replace(dark, mode="estimate"),
            }
    return bursts


def measure_bursts(
    bursts: Mapping[str, Burst], seeds: Sequence[int], progress: Callable[[str], None]
) -> dict[str, Any]:
    """Run every burst with every seed, one after another; returns what ``-o json`` prints."""
    outcomes: dict[str, list[Outcome]] = {}
    for label, burst in bursts.items():
        progress(label)
        outcomes[label] = [run_burst(replace(burst, seed=seed)) for seed in seeds]
    return {"seeds": list(seeds), "bursts": summaries(bursts, outcomes)}


def summaries(bursts: Mapping[str, Burst], outcomes: Mapping[str, Sequence[Outcome]]) -> list[dict[str, Any]]:
    """One entry per burst: median and worst over its seeds, and ratios of spreads, seed by seed.

    ``against_requests``, ``against_default``: the spread in relation to that of the same burst without the overlay,
    all metrics being there.
    """
    return [
        {
            "label": label,
            "burst": asdict(burst),
            "runs": [asdict(each) for each in outcomes[label]],
            **{
                name: _both([getattr(each, name) for each in outcomes[label]])
                for name in ("above", "worst", "spread", "open_spread", "placement", "pending")
            },
            "against_requests": _ratio(label, replace(burst, scheduling="requests"), bursts, outcomes),
            "against_default": _ratio(label, replace(burst, scheduling="default"), bursts, outcomes),
        }
        for label, burst in bursts.items()
    ]


def _ratio(
    label: str, other: Burst, bursts: Mapping[str, Burst], outcomes: Mapping[str, Sequence[Outcome]]
) -> dict[str, float] | None:
    """Median and worst ratio of the spread to that of ``other`` with all metrics, None if that was not run."""
    same = replace(other, missing=0.0, stale=0.0, mode="upstream", weight=1)
    found = next((name for name, burst in bursts.items() if burst == same), None)
    if found is None:
        return None
    pairs = zip(outcomes[label], outcomes[found], strict=True)
    return _both([one.spread / max(base.spread, 1e-9) for one, base in pairs])


def _both(values: Sequence[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "worst": max(values)}
