"""What the sections of the configuration have in common: their rules, and how durations are written."""

from __future__ import annotations

import re
from typing import Annotated, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|us|s|m|h))+")
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|s|m|h)")
_UNIT_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration(value: object) -> float:
    """Return seconds from a number of seconds or a string such as ``20ms``, ``1.5s`` or ``1m30s``."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and _DURATION.fullmatch(value):
        return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in _DURATION_PART.findall(value))
    raise ValueError(
        f"{value!r} is not a duration; write seconds (0.5) or a number with a unit (20ms, 1m30s)"
    )


Duration: TypeAlias = Annotated[
    float, BeforeValidator(parse_duration), Field(ge=0, le=3600, allow_inf_nan=False)
]
PositiveDuration: TypeAlias = Annotated[
    float, BeforeValidator(parse_duration), Field(gt=0, le=3600, allow_inf_nan=False)
]


class Section(BaseModel):
    """Common rules: camelCase in YAML, snake_case in Python, unknown keys refused, immutable."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )
