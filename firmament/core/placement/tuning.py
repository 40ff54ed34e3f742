"""Constants of placement: one dataclass per algorithm, passed on in ``Means``.

Each search that could go on for long has a field that limits its work, and so its time. Unless a field says that it was
measured, it is a round number with which the search takes no longer than the rest of the round.
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
    """Constants of all stages of placement, including those of the flow."""

    flow: FlowTuning = field(default_factory=FlowTuning)
    """Constants of the flow."""
    relocation: RelocationTuning = field(default_factory=RelocationTuning)
    """Moving placed tasks elsewhere to make room for tasks left over."""
    exchange: ExchangeTuning = field(default_factory=ExchangeTuning)
    """Exchanging tasks of different sizes between machines."""
    spread: SpreadTuning = field(default_factory=SpreadTuning)
    """Moves for default spread."""
    applications: ApplicationTuning = field(default_factory=ApplicationTuning)
    """Moves of applications with pairs."""
    groups: GroupTuning = field(default_factory=GroupTuning)
    """Reordering groups over trees."""
    small_rest: float = 0.1
    """Largest share of a pass's tasks left by admission that is placed without another network."""
    worth_a_wave: int = 50
    """Another wave is solved if the one before placed at least one in this many of the tasks that were left."""
    pinned_up_to: int = 256
    """Largest number of machines for which a part of a class gets a list of machines (pins) instead of a mask."""
    gang_search_steps: int = 600
    """How often the search for places of a gang with rules between its tasks tries a machine for a task."""
    gang_search_cells: int = 2_000_000
    """Such tries times machines, over all gangs of one trial: limits the time spent on gangs that fit nowhere."""
    gang_search_tasks: int = 64
    """Tasks of the largest gang for which places are searched."""
    gang_searches: int = 16
    """Number of gangs with rules between their tasks for which places are searched in one trial."""
