"""Asks models about sample cases, and says what is wrong with an answer: what the conformance checks are made of.

Whatever is wrong raises ``AssertionError`` naming the model, the case and the fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.checks.sample_inputs import Case
from cost_models.interface import Assessment, CostModel, Float64


def require(condition: bool, model: CostModel, message: str, case: str = "") -> None:
    """Raise ``AssertionError`` unless ``condition`` holds. Not ``assert``, which python -O leaves out."""
    if not condition:
        name = getattr(model, "name", "") or type(model).__name__
        raise AssertionError(f"{name}: {case}: {message}" if case else f"{name}: {message}")


def assess(model: CostModel, case: Case) -> Assessment:
    """The model's answer; an exception counts as a failed check."""
    try:
        answer = model.assess(case.machines, case.shapes)
    except Exception as error:
        raise AssertionError(f"{model.name}: {case.name}: assess raised {error!r}") from error
    require(isinstance(answer, Assessment), model, "assess must return an Assessment", case.name)
    return answer


def crowding(model: CostModel, case: Case, request: NDArray[np.int64]) -> Float64:
    """What the model says of crowding; an exception counts as a failed check."""
    try:
        return model.crowding(case.machines, request)
    except Exception as error:
        raise AssertionError(f"{model.name}: {case.name}: crowding raised {error!r}") from error


def crowding_rows(model: CostModel, case: Case) -> list[Float64]:
    """Crowding for every request of the case."""
    return [crowding(model, case, request) for request in case.shapes.requests]


def described(value: object) -> str:
    """Element type and shape of an array; of anything else its type."""
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__


def require_array(
    model: CostModel, case: Case, name: str, array: object, dtype: type[np.generic], shape: tuple[int, ...]
) -> None:
    """Require an array of just this element type and shape."""
    require(
        isinstance(array, np.ndarray) and array.dtype == dtype and array.shape == shape,
        model,
        f"{name} is {described(array)}; it must be {dtype.__name__}{list(shape)}",
        case.name,
    )


def require_indices(
    model: CostModel, case: Case, name: str, indices: NDArray[Any], low: int, end: int
) -> None:
    """Require ``low`` <= index < ``end``."""
    within = (indices >= low) & (indices < end)
    require(bool(within.all()), model, f"{name} must lie in {low}..{end - 1}", case.name)


def require_reason(model: CostModel, case: Case, what: str, reason: object) -> None:
    """Require a reason that people can read; ``what`` says what it is needed for."""
    require(
        isinstance(reason, str) and bool(reason.strip()) and "\n" not in reason,
        model,
        f"{what}, but the reason is {reason!r}; it must be one line of text",
        case.name,
    )


def equal(one: Any, other: Any) -> bool:
    """Whether two values (dataclasses, sequences, mappings, arrays) are equal throughout; NaN equals NaN."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        # A structure of raw bytes would tell -0.0 from 0.0; floats alone can hold NaN.
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if type(one) is not type(other):
        return False
    if hasattr(one, "__dataclass_fields__"):
        return all(equal(getattr(one, name), getattr(other, name)) for name in one.__dataclass_fields__)
    if isinstance(one, Sequence) and not isinstance(one, (str, bytes)):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)
