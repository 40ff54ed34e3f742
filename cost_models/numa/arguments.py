"""The arguments of ``numa_fit``: those of upstream's plugin, and a few more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cost_models.arguments import Arguments
from cost_models.numa.records import POLICIES

MODEL_NAME = "numa_fit"

STRATEGIES = ("LeastAllocated", "MostAllocated", "BalancedAllocation", "LeastNUMANodes")
MODELLED = ("restricted", "best-effort")

WITHOUT_EFFECT = ("cacheResyncPeriodSeconds", "cache")
"""Arguments about upstream's cache: accepted, so that its configuration works unchanged, but without effect."""


@dataclass(frozen=True, slots=True)
class NumaOptions:
    """The checked arguments."""

    strategy: str = STRATEGIES[0]
    """Name of the scoring strategy."""
    weights: Mapping[str, int] = field(default_factory=dict)
    """Weights by resource, 1 for others."""
    proposal: bool = False
    """Whether to align as the proposal says: memory and huge pages are not checked, nor is cpu of tasks that are not
    guaranteed.
    """
    kubelet_sidecars: bool = False
    """Whether sidecars keep their share of a zone, as in the kubelet."""
    modelled: frozenset[int] = frozenset()
    """Policies besides single-numa-node, as rows of ``POLICIES``."""
    pod_hints: bool = False
    """Whether annotations of pods count."""
    distance_cost: float = 0.0
    """Points per 10 units by which the mean distance between a task's zones exceeds the local distance."""
    refuse_unknown: bool = False
    """Whether machines without a record refuse tasks that need alignment."""
    stale_after: float = 0.0
    """Seconds after which a record is stale, 0 for never."""
    stale: str = "use"
    """The treatment of stale records: "use", "ignore" or "refuse"."""
    settle: float = 0.0
    """Seconds that a record may lag behind the kubelet."""
    discard_reserved: bool = False
    """Whether a machine refuses further tasks while its record does not count all of its tasks."""
    evicting: bool = False
    """Whether tasks may be evicted to free their zones."""


def read_options(given: Mapping[str, Any]) -> NumaOptions:
    """Check the arguments; raises ``ModelArgumentError``."""
    arguments = Arguments(MODEL_NAME, given)
    strategy, weights = _scoring(arguments.inner("scoringStrategy"))
    modelled = arguments.choices("modelledPolicies", MODELLED)
    options = NumaOptions(
        strategy=strategy,
        weights=weights,
        proposal=arguments.choice("memoryAlignment", ("upstream", "proposal")) == "proposal",
        kubelet_sidecars=arguments.choice("sidecars", ("upstream", "kubelet")) == "kubelet",
        modelled=frozenset(POLICIES.index(policy) for policy in modelled),
        pod_hints=arguments.flag("podHints", default=False),
        distance_cost=arguments.number("distanceCost", 0.0, most=100.0),
        refuse_unknown=arguments.choice("missingTopology", ("allow", "refuse")) == "refuse",
        stale_after=arguments.number("staleAfterSeconds", 0.0),
        stale=arguments.choice("staleTopology", ("use", "ignore", "refuse")),
        settle=arguments.number("settleSeconds", 0.0, most=86_400.0),
        discard_reserved=arguments.flag("discardReservedNodes", default=False),
        evicting=arguments.choice("preemptionMode", ("Disabled", "Enabled")) == "Enabled",
    )
    for name in WITHOUT_EFFECT:
        arguments.anything(name)
    arguments.finish()
    return options


def _scoring(inner: Arguments) -> tuple[str, dict[str, int]]:
    """Return type and weights of the scoring strategy; a weight of 0 counts as 1, as in upstream."""
    strategy = inner.choice("type", STRATEGIES)
    weights: dict[str, int] = {}
    for entry in inner.entries("resources"):
        each = Arguments(f"{MODEL_NAME}: scoringStrategy.resources", entry)
        name = each.text("name", "")
        weight = each.number("weight", 1.0, most=100.0)
        each.finish()
        if not weight.is_integer():
            raise each.error(f"weight of {name}", weight, "a whole number, 0 to 100")
        weights[name] = int(weight) or 1
    inner.finish()
    return strategy, weights
