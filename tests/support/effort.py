"""How much tests draw: one number for the examples of all properties, and for the seeds of all loops.

``EFFORT`` in the environment is the share of the stated numbers that is drawn, 0.2 where nothing is said. Of what takes
long, a fifth of that is drawn.
``make test-full`` takes 1, and with that also runs what is marked ``full``; more than 1 searches for longer.
"""

from __future__ import annotations

import os
from typing import Final

EFFORT: Final = float(os.environ.get("EFFORT", "0.2"))


def examples(full: int, least: int = 10, *, slow: bool = False) -> int:
    """The share of ``full`` to be drawn; not below ``least``, unless there are fewer. ``slow``: each takes long."""
    share = EFFORT / 5 if slow and EFFORT < 1 else EFFORT
    return max(round(full * share), min(full, least))
