"""Durations in a scenario: numbers of seconds, texts such as ``36h``, and distributions of them."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from protos.conventions.configuration import Section, duration_schema, parse_duration

Seconds: TypeAlias = NDArray[np.float64]
LONGEST = 10 * 365 * 86400.0
"""Longest duration in seconds: ten years."""

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
    """Run times of tasks of a kind: all equal, or drawn from a distribution."""

    distribution: Literal["fixed", "exponential", "lognormal", "uniform"] = "fixed"
    """The distribution that durations are drawn from."""
    mean: PositiveSpan | None = None
    """Mean in seconds, of fixed and exponential durations."""
    median: PositiveSpan | None = None
    """Median in seconds, of lognormal durations."""
    sigma: Annotated[float, Field(gt=0, le=5, allow_inf_nan=False)] = 1.0
    """Standard deviation of the logarithm, of lognormal durations."""
    least: PositiveSpan | None = None
    """Minimum in seconds; shorter durations are raised to it."""
    most: PositiveSpan | None = None
    """Maximum in seconds; longer durations are cut to it."""

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
        """Return the drawn remainders of durations that are under way at a moment: float64[count], seconds.

        Among durations under way, long ones are more frequent, in proportion to their length, and the moment is uniform
        in them: the residual life of a renewal process (Feller, An Introduction to Probability Theory II, XI.4).
        """
        if not count:
            return np.zeros(0)
        drawn = self.draw_durations(max(20_000, 4 * count), random)
        under_way = random.choice(drawn, size=count, p=drawn / drawn.sum())
        return np.asarray(under_way * random.random(count), dtype=np.float64)

    def estimate_mean(self) -> float:
        """Return the mean in seconds; for bounded distributions by a sample with a fixed seed."""
        if self.distribution == "fixed" or (
            self.distribution == "exponential" and self.least is None and self.most is None
        ):
            return float(self.mean or 1.0)
        return float(self.draw_durations(200_000, np.random.default_rng(0)).mean())

    def _cut(self, found: Seconds) -> Seconds:
        return np.clip(found, self.least or 0.001, self.most or LONGEST)
