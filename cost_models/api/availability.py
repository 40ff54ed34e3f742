"""How much of a machine's resources counts as taken: what tasks requested, or what was measured to be used.

Measured use does not know the tasks that came after it was measured; their requests are added, so that a burst does
not fill a machine that looks idle until its next report.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from cost_models.api.arrays import Float64
from cost_models.api.columns import MachineColumns

Availability: TypeAlias = Literal["auto", "utilisation", "reservation"]
AVAILABILITIES: tuple[Availability, ...] = ("auto", "utilisation", "reservation")

EXPIRATION_SECONDS = 180.0
"""Reports older than this do not count."""


def taken(
    machines: MachineColumns, column: int, availability: Availability, expiration: float = EXPIRATION_SECONDS
) -> Float64:
    """What is taken of one resource on each machine: float64[M].

    ``reservation``: what tasks requested, or are assumed to need where they do not say. ``auto``: the measured use and
    what tasks requested that it cannot show yet, where the last report is younger than ``expiration`` seconds;
    elsewhere what tasks requested. ``utilisation``: as ``auto``, but a machine without such a report counts as full.
    """
    capacity = machines.capacity[:, column]
    reserved = machines.requested(column).astype(np.float64)
    if availability == "reservation":
        return reserved
    measured = machines.usage[:, column]
    age = machines.now - machines.usage_time
    fresh = ~np.isnan(measured) & (age < expiration)  # NaN ages are not below anything
    if availability == "utilisation":
        reserved = capacity.astype(np.float64)
    if not fresh.any():
        return reserved
    unseen = 0 if machines.unseen is None else machines.unseen[:, column]
    return np.where(fresh, measured + unseen, reserved)


EARLY = 1e-3
"""Seconds before a report expires from which ``taken`` is not relied on: far more than times are rounded by."""


def taken_until(
    machines: MachineColumns, availability: Availability, expiration: float = EXPIRATION_SECONDS
) -> Float64:
    """From when on ``taken`` may be another figure although the machine has not changed: float64[M], inf for never."""
    never = np.full(machines.count, np.inf)
    if availability == "reservation":
        return never
    fresh = machines.now - machines.usage_time < expiration  # NaN ages are not below anything
    if not fresh.any():
        return never
    return np.where(fresh, machines.usage_time + (expiration - EARLY), never)
