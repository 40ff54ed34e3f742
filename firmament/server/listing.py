"""What is told of a cluster as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firmament.core.results import MachineState, TaskState


@dataclass(frozen=True, slots=True)
class Listing:
    """What ``ListState`` shows; the lists are empty unless asked for."""

    machines: int
    pending: int
    assumed: int
    bound: int
    rounds: int
    tasks: Sequence[TaskState] = ()
    machine_states: Sequence[MachineState] = ()
