"""Defines the constants of placement: one dataclass per algorithm. ``Means`` passes them on.

Each search that could take long has a field that limits its work, and so its time. Unless a field says that it was
measured, its value is a round number with which the search takes no longer than the rest of the round.
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
    """Constants of the search for an optimal flow."""
    relocation: RelocationTuning = field(default_factory=RelocationTuning)
    """Constants for moving placed tasks elsewhere, so that tasks left over find places."""
    exchange: ExchangeTuning = field(default_factory=ExchangeTuning)
    """Constants for exchanging tasks of different sizes between machines."""
    spread: SpreadTuning = field(default_factory=SpreadTuning)
    """Constants of moves for default spread, the preference of a workload's tasks for different machines and zones."""
    applications: ApplicationTuning = field(default_factory=ApplicationTuning)
    """Constants of moves of applications with pairs."""
    groups: GroupTuning = field(default_factory=GroupTuning)
    """Constants for reordering groups that are distributed over trees."""
    small_rest: float = 0.1
    """Largest share of a pass's tasks that may be placed without another network after admission has refused them."""
    worth_a_wave: int = 50
    """Another wave is solved if the last wave placed at least one in this many of the tasks that waited."""
    pinned_up_to: int = 256
    """Largest number of machines for which a part of a class gets a list of machines (pins) instead of a mask."""
    gang_search_steps: int = 600
    """Most times that the search for a gang with rules between its tasks tries a machine for a task."""
    gang_search_cells: int = 2_000_000
    """Limit on these searches times machines, over all gangs of a trial; limits the time for gangs that fit nowhere."""
    gang_search_tasks: int = 64
    """Most tasks of a gang for which places are searched."""
    gang_searches: int = 16
    """Most gangs with rules between their tasks for which places are searched in one trial."""
