"""Holds the default thresholds of load, and the default factors that estimate the use of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Percentages: TypeAlias = Mapping[str, int]
"""Whole percent, or weights, by resource."""

DEFAULT_THRESHOLDS: Percentages = {"cpu": 65, "memory": 95}
"""The use above which a machine takes no more tasks, in percent of what it offers."""

DEFAULT_FACTORS: Percentages = {"cpu": 85, "memory": 70}
"""The use that is expected of a new task, in percent of its requests."""

NONE: Percentages = {}
"""No thresholds or factors."""
