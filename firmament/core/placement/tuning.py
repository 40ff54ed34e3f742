"""What placement is tuned by: one value per algorithm, handed down with ``Means``."""

from __future__ import annotations

from dataclasses import dataclass, field

from firmament.core.flow.tuning import FlowTuning


@dataclass(frozen=True, slots=True)
class PlacementTuning:
    """All of it, with that of the flow."""

    flow: FlowTuning = field(default_factory=FlowTuning)
