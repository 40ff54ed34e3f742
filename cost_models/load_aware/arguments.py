"""The arguments of ``load_threshold``: those of Koordinator's LoadAwareSchedulingArgs, and some others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Literal, TypeAlias

from cost_models.api.quantities import seconds_of, whole_amount
from cost_models.arguments import Arguments, is_number
from cost_models.load_aware.defaults import DEFAULT_FACTORS, DEFAULT_THRESHOLDS, NONE, Percentages

StrategyName: TypeAlias = Literal["LeastUsed", "MostUsed", "TargetLoadPacking", "LoadVariationRiskBalancing"]
STRATEGIES: tuple[StrategyName, ...] = (
    "LeastUsed",
    "MostUsed",
    "TargetLoadPacking",
    "LoadVariationRiskBalancing",
)


@dataclass(frozen=True, slots=True)
class Strategy:
    """The scoring strategy and Trimaran's parameters.

    ``target``: percent; ``default_cpu``: milli-cores of a container without requests; ``multiplier`` of requests;
    ``margin`` and ``sensitivity`` of the deviation.
    """

    name: StrategyName = "LeastUsed"
    target: float = 40.0
    default_cpu: int = 1000
    multiplier: float = 1.5
    margin: float = 1.0
    sensitivity: float = 1.0


def read_strategy(read: Arguments) -> Strategy:
    """Check ``scoringStrategy``; parameters of other strategies are refused. Raises ``ModelArgumentError``."""
    strategy = Strategy(read.choice("type", STRATEGIES))
    if strategy.name == "TargetLoadPacking":
        target = read.number("targetUtilization", 40, least=1, most=99)
        strategy = replace(
            strategy, target=target, default_cpu=_default_cpu(read), multiplier=_multiplier(read)
        )
    elif strategy.name == "LoadVariationRiskBalancing":
        margin, sensitivity = (read.number(f"safeVariance{each}", 1) for each in ("Margin", "Sensitivity"))
        strategy = replace(strategy, margin=margin, sensitivity=sensitivity)
    read.finish()
    return strategy


def _default_cpu(read: Arguments) -> int:
    requests = read.mapping("defaultRequests")
    amount = whole_amount("cpu", requests.get("cpu", "1000m"))
    if amount is None or set(requests) - {"cpu"}:
        raise read.error("defaultRequests", dict(requests), "a quantity of cpu alone")
    return amount


def _multiplier(read: Arguments) -> float:
    """Return a number of at least 1, written as a number or, as in upstream, as text."""
    value = read.anything("defaultRequestsMultiplier")
    try:
        number = 1.5 if value is None else float(str(value))
    except ValueError:
        number = 0.0
    if not 1 <= number <= 1000:
        raise read.error("defaultRequestsMultiplier", value, "a number from 1 to 1000")
    return number


MODEL = "load_threshold"
AGGREGATIONS = ("avg", "p50", "p90", "p95", "p99")


Rounding: TypeAlias = Literal["exact", "upstream"]
Missing: TypeAlias = Literal["upstream", "failOpen", "failClosed", "estimate"]
Hot: TypeAlias = Literal["reject", "leastLoaded"]


@dataclass(frozen=True, slots=True)
class Aggregation:
    """A statistic of use: ``kind`` (avg, p50, ...; "" for the last figure) over ``seconds`` (0 for the longest
    period).
    """

    kind: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Risk:
    """How much the use of tasks varies, and how much risk is accepted.

    ``deviation``: by resource, the standard deviation of a task's use as a part of its expected use; for resources
    without one, use is taken to be as expected. ``tolerance``: the accepted probability that a machine at its limit
    exceeds the threshold.
    """

    deviation: Mapping[str, float]
    tolerance: float = 0.01

    @property
    def quantile(self) -> float:
        """The number z of standard deviations between the expected use and the limit."""
        return NormalDist().inv_cdf(1.0 - self.tolerance)


def read_risk(read: Arguments) -> Risk:
    """Check ``usageRisk``: ``deviation`` in percent by resource, ``tolerance`` in percent. Raises
    ``ModelArgumentError``."""
    deviation = read.mapping("deviation")
    for resource, value in deviation.items():
        if not resource or not is_number(value) or not 0 <= value <= 100:
            raise read.error(f"deviation.{resource}", value, "a number from 0 to 100")
    tolerance = read.number("tolerance", 1, least=0.001, most=50)
    read.finish()
    return Risk({name: value / 100 for name, value in deviation.items() if value}, tolerance / 100)


@dataclass(frozen=True, slots=True)
class Settings:
    """The checked arguments, with defaults."""

    expiration: float
    """Seconds after which a report expires."""
    filter_expired: bool
    """Whether machines with expired reports are refused."""
    pass_expired: bool
    """Whether thresholds are skipped on machines with expired reports."""
    weights: Percentages
    """Weight of each resource in the score."""
    dominant_weight: int
    """Weight of the most used resource."""
    thresholds: Percentages
    """Highest use in percent, by resource."""
    prod_thresholds: Percentages
    """The thresholds for the use of koord-prod tasks."""
    prod_includes_system: bool
    """Whether the system's use counts as use by koord-prod tasks."""
    score_prod: bool
    """Whether koord-prod tasks are scored by the use of koord-prod tasks only."""
    factors: Percentages
    """Estimated use in percent of requests, by resource."""
    after_scheduled: int
    """For how many seconds after scheduling the estimate counts; 0 for off."""
    after_initialized: int
    """For how many seconds after initialization the estimate counts; 0 for off."""
    customize: bool
    """Whether annotations of tasks may change their factors."""
    aggregated_thresholds: Percentages
    """Thresholds in percent for the statistic of ``filter_aggregation``."""
    filter_aggregation: Aggregation
    """Statistic that thresholds use."""
    score_aggregation: Aggregation
    """Statistic that scores use."""
    rounding: Rounding
    """How estimates are rounded."""
    missing: Missing
    """How machines without a report are treated."""
    hot: Hot
    """How machines above a threshold are treated."""
    risk: Risk
    """How the risk of varying use counts."""
    strategy: Strategy
    """How use becomes a score."""
    known: tuple[str, ...]
    """Resources that count, sorted by name."""


def read_settings(args: Mapping[str, Any]) -> Settings:
    """Check the configuration's ``args``. Raises ``ModelArgumentError`` for the first wrong argument."""
    read = Arguments(MODEL, args)
    dominant = read.whole("dominantResourceWeight", 0, most=100)
    factors = {**DEFAULT_FACTORS, **_percentages(read, "estimatedScalingFactors", least=1)}
    weights = _percentages(read, "resourceWeights", least=1)
    if not weights and dominant == 0:
        weights = {"cpu": 1, "memory": 1}
    for name in sorted(set(weights) - set(factors)):
        raise read.error(
            f"resourceWeights.{name}", weights[name], "for a resource in estimatedScalingFactors"
        )
    thresholds = _percentages(read, "usageThresholds") or DEFAULT_THRESHOLDS
    prod_thresholds = _percentages(read, "prodUsageThresholds")
    aggregated, filtering, scoring = _read_aggregation(read.inner("aggregated"))
    supported = read.texts("supportedResources", ()) if read.anything("supportedResources") else ()
    read.anything("estimator")  # The model has one estimator; upstream uses its own for unknown names, too.
    known = {"cpu", "memory", *thresholds, *prod_thresholds, *aggregated, *weights, *factors, *supported}
    settings = Settings(
        expiration=read.whole("nodeMetricExpirationSeconds", 180, least=1),
        filter_expired=read.flag("filterExpiredNodeMetrics", default=True),
        pass_expired=read.flag("enableScheduleWhenNodeMetricsExpired", default=False),
        weights=weights,
        dominant_weight=dominant,
        thresholds=thresholds,
        prod_thresholds=prod_thresholds,
        prod_includes_system=read.flag("prodUsageIncludeSys", default=False),
        score_prod=read.flag("scoreAccordingProdUsage", default=False),
        factors=factors,
        after_scheduled=max(0, read.whole("estimatedSecondsAfterPodScheduled", 0, least=-(10**9))),
        after_initialized=max(0, read.whole("estimatedSecondsAfterInitialized", 0, least=-(10**9))),
        customize=read.flag("allowCustomizeEstimation", default=False),
        aggregated_thresholds=aggregated,
        filter_aggregation=filtering,
        score_aggregation=scoring,
        rounding=read.choice("thresholdRounding", ("exact", "upstream")),
        missing=read.choice("missingMetrics", ("upstream", "failOpen", "failClosed", "estimate")),
        hot=read.choice("whenAllHot", ("reject", "leastLoaded")),
        risk=read_risk(read.inner("usageRisk")),
        strategy=read_strategy(read.inner("scoringStrategy")),
        known=tuple(sorted(known)),
    )
    read.finish()
    return settings


def _read_aggregation(read: Arguments) -> tuple[Percentages, Aggregation, Aggregation]:
    """Return thresholds and aggregation of the filter (off unless both are given), and the score's aggregation."""
    thresholds = _percentages(read, "usageThresholds")
    filtering = Aggregation(_kind(read, "usageAggregationType"), _duration(read, "usageAggregatedDuration"))
    scoring = Aggregation(_kind(read, "scoreAggregationType"), _duration(read, "scoreAggregatedDuration"))
    read.finish()
    if not filtering.kind:
        thresholds = NONE
    return thresholds, filtering, scoring


def _percentages(read: Arguments, name: str, *, least: int = 0) -> Percentages:
    """Return a map from resources to whole numbers from ``least`` to 100, empty by default."""
    given = read.mapping(name)
    for resource, value in given.items():
        if not resource or not _is_whole(value, least, 100):
            raise read.error(f"{name}.{resource}", value, f"a whole number from {least} to 100")
    return dict(given)


def _kind(read: Arguments, name: str) -> str:
    return read.choice(name, AGGREGATIONS) if read.anything(name) else ""


def _duration(read: Arguments, name: str) -> float:
    value = read.anything(name)
    if value is None:
        return 0.0
    seconds = float(value) if _is_whole(value, 0, 10**9) else seconds_of(value)
    if seconds is None:
        raise read.error(name, value, "a duration such as 5m or 1h30m")
    return seconds


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
