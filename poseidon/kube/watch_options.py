"""Defines the page sizes, time-outs and pauses of lists and watches, and the section ``watch`` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field

from protos.configuration.sections import Section
from protos.conventions.durations import duration_schema, parse_duration


class WatchOptions(Section):
    """The section ``watch``.

    ``reconcile_period`` (15 min) is the time between two comparisons of each collection's known objects with the API
    server's. 0 means never.
    """

    reconcile_period: Annotated[
        float,
        BeforeValidator(parse_duration),
        Field(ge=0, le=86400, allow_inf_nan=False),
        duration_schema(minimum=0, maximum=86400),
    ] = 900.0


@dataclass(frozen=True, slots=True)
class ReflectorOptions:
    """Page sizes and times of a reflector, which lists and watches a collection."""

    page_size: int = 1000
    """Objects per page of a list."""
    watch_seconds: tuple[float, float] = (300.0, 600.0)
    """Range in seconds from which each watch's server-side time-out is drawn."""
    read_margin: float = 15.0
    """Seconds after the watch's time-out until the client gives up a silent stream."""
    absent_seconds: float = 20.0
    """Seconds between tries of a resource that is not served."""
    look_seconds: float = 5.0
    """Longest wait in seconds for the present version of a collection, before a watch is resumed."""
    broken_watches: int = 5
    """Number of watches that may fail in a row without progress before a new list."""
    backoff_initial: float = 0.2
    """First pause after a failure, in seconds."""
    backoff_cap: float = 10.0
    """Longest pause after failures, in seconds."""
