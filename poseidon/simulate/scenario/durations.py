"""Durations in a scenario: numbers of seconds, texts such as ``36h``, and distributions of durations."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from protos.configuration.sections import Section
from protos.conventions.durations import duration_schema, parse_duration

Seconds: TypeAlias = NDArray[np.float64]
LONGEST = 10 * 365 * 86400.0
"""Longest accepted duration in seconds: ten years."""

Span: TypeAlias = Annotated[
    float,
    BeforeValidator(parse_duration),
    Field(ge=0, le=LONGEST, allow_inf_nan=False),
    duration_schema(minimum=0, maximum=LONGEST),
]
PositiveSpan: TypeAlias = Annotated[
    float,
    BeforeValidator(parse_duration),
    Field(gt=0, le=LONGEST, allow_inf_nan=False),
    duration_schema(exclusiveMinimum=0, maximum=LONGEST),
]


class Durations(Section):
    """Run times of a kind's tasks: all equal, or drawn from a distribution."""

    distribution: Literal["fixed", "exponential", "lognormal", "uniform"] = "fixed"
    """The distribution from which durations are drawn."""
    mean: PositiveSpan | None = None
    """Mean of fixed or exponential durations, in seconds."""
    median: PositiveSpan | None = None
    """Median of lognormal durations, in seconds."""
    sigma: Annotated[float, Field(gt=0, le=5, allow_inf_nan=False)] = 1.0
    """Standard deviation of the logarithm of lognormal durations."""
    least: PositiveSpan | None = None
    """Least duration in seconds; shorter durations are raised to it."""
    most: PositiveSpan | None = None
    """Greatest duration in seconds; longer durations are reduced to it."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needed = {"fixed": ("mean",), "exponential": ("mean",), "lognormal": ("median",)}
        for name in needed.get(self.distribution, ("least", "most")):
            if getattr(self, name) is None:
                raise ValueError(f"a {self.distribution} duration needs {name}; give it, such as {name}: 1h")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ValueError("least is more than most; exchange them")
        return self

    def draw_durations(self, count: int, random: np.random.Generator) -> Seconds:
        """Return ``count`` drawn durations: float64[count], seconds."""
        if self.distribution == "fixed":
            found = np.full(count, self.mean)
        elif self.distribution == "exponential":
            found = random.exponential(self.mean or 1.0, count)
        elif self.distribution == "lognormal":
            found = random.lognormal(math.log(self.median or 1.0), self.sigma, count)
        else:
            found = random.uniform(self.least or 0.0, self.most or 1.0, count)
        return self._cut(found)

    def draw_remaining(self, count: int, random: np.random.Generator) -> Seconds:
        """Return how long tasks that run at a given moment still run, randomly drawn: float64[count], seconds.

        Tasks that run at a given moment are long with a probability proportional to their length, and the moment is
        uniform in their run time. The remainder is the residual life of a renewal process (Feller, An Introduction to
        Probability Theory II, XI.4).
        """
        if not count:
            return np.zeros(0)
        drawn = self.draw_durations(max(20_000, 4 * count), random)
        under_way = random.choice(drawn, size=count, p=drawn / drawn.sum())
        return np.asarray(under_way * random.random(count), dtype=np.float64)

    def estimate_mean(self) -> float:
        """Return the mean in seconds; for bounded distributions, it is the mean of a sample with a fixed seed."""
        if self.distribution == "fixed" or (
            self.distribution == "exponential" and self.least is None and self.most is None
        ):
            return float(self.mean or 1.0)
        return float(self.draw_durations(200_000, np.random.default_rng(0)).mean())

    def _cut(self, found: Seconds) -> Seconds:
        return np.clip(found, self.least or 0.001, self.most or LONGEST)
