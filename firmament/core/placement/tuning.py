"""The tuning of placement: one value per algorithm, passed on in ``Means``.

Of each search that may go on for long a field bounds the work, and with it the time. Where these are not said to be
measured they are round numbers at which the search takes no longer than the rest of the round.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from firmament.core.flow.tuning import FlowTuning
from firmament.core.search.tuning import (
    ApplicationTuning,
    ExchangeTuning,
    GroupTuning,
    RelocationTuning,
    SpreadTuning,
)


@dataclass(frozen=True, slots=True)
class PlacementTuning:
    """Tuning of all stages of placement, with that of the flow."""

    flow: FlowTuning = field(default_factory=FlowTuning)
    """Tuning of the flow."""
    relocation: RelocationTuning = field(default_factory=RelocationTuning)
    """Placing others elsewhere for tasks left over."""
    exchange: ExchangeTuning = field(default_factory=ExchangeTuning)
    """Exchanging tasks of different sizes."""
    spread: SpreadTuning = field(default_factory=SpreadTuning)
    """Moves for default spread."""
    applications: ApplicationTuning = field(default_factory=ApplicationTuning)
    """Moves of applications with pairs."""
    groups: GroupTuning = field(default_factory=GroupTuning)
    """Order of groups over trees."""
    small_rest: float = 0.1
    """Share of the tasks of a pass up to which what admission left is placed without another network."""
    worth_a_wave: int = 50
    """A further wave is solved if the one before placed at least one in so many of the tasks that were left."""
    pinned_up_to: int = 256
    """Up to so many machines, a part of a class is given its machines as a list (pins), not as a mask."""
    gang_search_steps: int = 600
    """Tries of a machine for a task in the search for places of a gang with rules between its tasks."""
    gang_search_cells: int = 2_000_000
    """Such tries times machines, of all gangs of one trial: what a round may spend on gangs that fit nowhere."""
    gang_search_tasks: int = 64
    """Tasks of the largest gang for which that is searched."""
    gang_searches: int = 16
    """Gangs with rules between their tasks for which that is searched at most, in one trial."""
