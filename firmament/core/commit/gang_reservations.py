"""Keeps the places that a round found for gangs that other tasks keep overtaking."""

from __future__ import annotations

from collections.abc import Mapping

from firmament.core.flow.problem import Assignments
from firmament.core.queue.gang_reservations import GangReservations, KeptPart
from firmament.core.snapshot.snapshot import Snapshot
from firmament.core.state.cluster import Cluster


def keep_room(
    cluster: Cluster,
    reservations: GangReservations,
    snapshot: Snapshot | None,
    kept: Mapping[int, Assignments],
    now: float,
) -> None:
    """Reserve, for each gang that was due for a reservation, the places that the round found for it.

    ``kept``: the places by number of the gang in ``snapshot``. ``snapshot`` is None if the round had no task to place.
    """
    found = {}
    if snapshot is not None:
        found = {
            snapshot.gangs[gang]: [
                KeptPart(snapshot.machine_names[machine], int(snapshot.cls[cls]), count)
                for cls, machine, count in places.entries()
            ]
            for gang, places in kept.items()
        }
    reservations.keep(cluster, found, now)
