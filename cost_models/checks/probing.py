"""Asks models about sample cases, and reports faults of their answers, for the conformance checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cost_models.checks.sample_inputs import Case
from cost_models.interface import Assessment, CostModel, Float64

Check: TypeAlias = Callable[[CostModel, Sequence[Case]], None]


def require(condition: bool, model: CostModel, message: str, case: str = "") -> None:
    """Raise ``AssertionError`` unless ``condition`` holds.

    The code raises the error itself, because python -O leaves ``assert`` out.
    """
    if not condition:
        name = getattr(model, "name", "") or type(model).__name__
        raise AssertionError(f"{name}: {case}: {message}" if case else f"{name}: {message}")


@dataclass(frozen=True, slots=True)
class Probe:
    """A model, and a case about which the model is asked.

    A fault raises an ``AssertionError`` that names the model and the case.
    """

    model: CostModel
    case: Case

    @property
    def shapes(self) -> int:
        """Number of shapes: S."""
        return self.case.shapes.count

    @property
    def machines(self) -> int:
        """Number of machines: M."""
        return self.case.machines.count

    def answer(self) -> Assessment:
        """Return the model's answer; an exception counts as a failed check."""
        try:
            answer = self.model.assess(self.case.machines, self.case.shapes)
        except Exception as error:
            raise AssertionError(f"{self.model.name}: {self.case.name}: assess raised {error!r}") from error
        self.require(isinstance(answer, Assessment), "assess must return an Assessment")
        return answer

    def crowding(self, request: NDArray[np.int64]) -> Float64:
        """Return the model's crowding for a request; an exception counts as a failed check."""
        try:
            return self.model.crowding(self.case.machines, request)
        except Exception as error:
            raise AssertionError(f"{self.model.name}: {self.case.name}: crowding raised {error!r}") from error

    def crowding_rows(self) -> list[Float64]:
        """Return the model's crowding for every request of the case: float64[M] each."""
        return [self.crowding(request) for request in self.case.shapes.requests]

    def require(self, condition: bool | np.bool_, message: str) -> None:
        """Fail, naming model and case, unless ``condition`` holds."""
        require(bool(condition), self.model, message, self.case.name)

    def array(self, name: str, array: object, dtype: type[np.generic], shape: tuple[int, ...]) -> None:
        """Fail unless ``array`` has exactly this element type and shape."""
        right = isinstance(array, np.ndarray) and array.dtype == dtype and array.shape == shape
        self.require(right, f"{name} is {describe_value(array)}; it must be {dtype.__name__}{list(shape)}")

    def figures(self, name: str, array: Float64, shape: tuple[int, ...]) -> None:
        """Fail unless ``array`` holds floating point numbers that are finite and at least 0, in this shape."""
        self.array(name, array, np.float64, shape)
        self.require((np.isfinite(array) & (array >= 0)).all(), f"{name} is negative or not finite")

    def indices(self, name: str, indices: NDArray[Any], low: int, end: int) -> None:
        """Fail unless each index is at least ``low`` and below ``end``."""
        within = (indices >= low) & (indices < end)
        self.require(within.all(), f"{name} must lie in {low}..{end - 1}")

    def reason(self, what: str, reason: object) -> None:
        """Fail unless ``reason`` is one line of text; the message of the failure begins with ``what``."""
        readable = isinstance(reason, str) and bool(reason.strip()) and "\n" not in reason
        self.require(readable, f"{what}, but the reason is {reason!r}; it must be one line of text")


def check_each_answer(check: Callable[[Probe, Assessment], None]) -> Check:
    """Return a check of a model's answers to all cases, made from ``check``, the check of one answer."""

    @wraps(check)
    def check_all(model: CostModel, cases: Sequence[Case]) -> None:
        for case in cases:
            probe = Probe(model, case)
            check(probe, probe.answer())

    return check_all


def describe_value(value: object) -> str:
    """Return element type and shape of an array; of anything else its type."""
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__


def are_equal(one: Any, other: Any) -> bool:
    """Return whether two values (dataclasses, sequences, mappings, arrays) are equal throughout; NaN equals
    NaN.
    """
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        # Comparing raw bytes would tell -0.0 from 0.0; only floats can be NaN.
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if type(one) is not type(other):
        return False
    if hasattr(one, "__dataclass_fields__"):
        return all(are_equal(getattr(one, name), getattr(other, name)) for name in one.__dataclass_fields__)
    if isinstance(one, Sequence) and not isinstance(one, (str, bytes)):
        return len(one) == len(other) and all(map(are_equal, one, other))
    return bool(one == other)
