"""How ``load_threshold`` turns use into a score: the choices and their parameters, as upstream plugins name them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from cost_models.api.quantities import whole_amount
from cost_models.arguments import Arguments

StrategyName: TypeAlias = Literal["LeastUsed", "MostUsed", "TargetLoadPacking", "LoadVariationRiskBalancing"]
STRATEGIES: tuple[StrategyName, ...] = (
    "LeastUsed",
    "MostUsed",
    "TargetLoadPacking",
    "LoadVariationRiskBalancing",
)


@dataclass(frozen=True, slots=True)
class Strategy:
    """``name`` and Trimaran's parameters: ``target`` percent, ``default_cpu`` milli-cores of a container without
    requests, ``multiplier`` of requests; ``margin`` and ``sensitivity`` of the deviation."""

    name: StrategyName = "LeastUsed"
    target: float = 40.0
    default_cpu: int = 1000
    multiplier: float = 1.5
    margin: float = 1.0
    sensitivity: float = 1.0


def read_strategy(read: Arguments) -> Strategy:
    """Check ``scoringStrategy``; parameters of other strategies are refused. Raises ``ModelArgumentError``."""
    name = read.choice("type", STRATEGIES)
    strategy = Strategy(name)
    if name == "TargetLoadPacking":
        strategy = Strategy(
            name,
            target=read.number("targetUtilization", 40, least=1, most=99),
            default_cpu=_default_cpu(read),
            multiplier=_multiplier(read),
        )
    elif name == "LoadVariationRiskBalancing":
        strategy = Strategy(
            name,
            margin=read.number("safeVarianceMargin", 1),
            sensitivity=read.number("safeVarianceSensitivity", 1),
        )
    read.finish()
    return strategy


def _default_cpu(read: Arguments) -> int:
    requests = read.mapping("defaultRequests")
    amount = whole_amount("cpu", requests.get("cpu", "1000m"))
    if amount is None or set(requests) - {"cpu"}:
        raise read.error("defaultRequests", dict(requests), "a quantity of cpu alone")
    return amount


def _multiplier(read: Arguments) -> float:
    """A number of at least 1, written as one or as text, which is how upstream has it."""
    value = read.anything("defaultRequestsMultiplier")
    try:
        number = 1.5 if value is None else float(str(value))
    except ValueError:
        number = 0.0
    if not 1 <= number <= 1000:
        raise read.error("defaultRequestsMultiplier", value, "a number from 1 to 1000")
    return number
