"""What flow and placement are tuned by where nothing else is said."""

from __future__ import annotations

from firmament.core.placement.tuning import PlacementTuning

PLACING = PlacementTuning()
FLOW = PLACING.flow
PRICES = FLOW.prices
NEWTON = PRICES.newton
