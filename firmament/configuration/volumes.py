"""The section of the configuration about volumes."""

from __future__ import annotations

from firmament.configuration.sections import PositiveDuration, Section


class VolumeSection(Section):
    """How claims are bound.

    ``bind_timeout`` (10 m): how long the claims of a pod may take to be bound before it goes back to the queue.
    """

    bind_timeout: PositiveDuration = 600.0
