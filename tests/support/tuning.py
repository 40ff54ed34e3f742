"""What the flow is tuned by where nothing else is said."""

from __future__ import annotations

from firmament.core.flow.tuning import FlowTuning

FLOW = FlowTuning()
PRICES = FLOW.prices
NEWTON = PRICES.newton
