"""Limits the simulated API server, so that it answers no faster than a real one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The simulated server's capacity; 0: no limit.

    ``binding_rate`` is in writes of any kind per second; a pod costs two, its binding and, behind all bindings, its
    event. ``latency`` is in seconds, on top of the time that a write waits for its turn. Of more than ``in_flight``
    writes at a time the rest are turned away (429).
    """

    binding_rate: float = 0.0
    latency: float = 0.0
    in_flight: int = 0

    def arguments(self) -> tuple[str, ...]:
        """Return the server's command-line arguments."""
        given = (
            ("--write-rate", self.binding_rate),
            ("--write-latency", self.latency),
            ("--max-writes", self.in_flight),
        )
        return tuple(text for name, value in given if value for text in (name, str(value)))

    def __str__(self) -> str:
        parts = [
            f"{self.binding_rate:g} writes/s" if self.binding_rate else "",
            f"{self.latency * 1e3:g} ms per write" if self.latency else "",
            f"{self.in_flight} writes in flight" if self.in_flight else "",
        ]
        return ", ".join(part for part in parts if part)
