"""How long single inputs take, in processor time: which took the longest."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Timing:
    """``inputs`` have been timed; the ``slowest`` took so many seconds, and began with ``example``."""

    inputs: int = 0
    slowest: float = 0.0
    example: bytes = b""

    @contextmanager
    def of(self, raw: bytes) -> Iterator[None]:
        """Time what is done with one input."""
        begun = time.process_time()
        yield
        seconds = time.process_time() - begun
        self.inputs += 1
        if seconds > self.slowest:
            self.slowest, self.example = seconds, raw[:2000]
