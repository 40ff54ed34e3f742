"""The section of the configuration about the bridge's stream to the solver; the bridge heeds it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from firmament.configuration.sections import Section, parse_duration


class StreamSection(Section):
    """When a stream is given up.

    ``silence_timeout`` (60 s): how long the oldest batch of events may go unacknowledged before the solver is taken to
    hang, and the stream is replaced by a new one with a full snapshot. At least 1 s, as opening a large round takes a
    part of that.
    """

    silence_timeout: Annotated[
        float, BeforeValidator(parse_duration), Field(ge=1, le=3600, allow_inf_nan=False)
    ] = 60.0
