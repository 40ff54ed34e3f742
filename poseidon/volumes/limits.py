"""How many volumes of each CSI driver a machine can hold."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from poseidon.volumes.requirements import ATTACHMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poseidon.kube.api.storage import CsiNode

NO_LIMIT = 2**31
"""What machines offer where there is no limit: more than any machine attaches."""


class AttachLimits:
    """Limits by machine and driver, as the machines' CSINode objects state them.

    A driver that states no limit on any machine is not counted at all. Of a driver that does, machines without
    a limit offer ``NO_LIMIT``, since a resource that a machine does not offer counts as 0.
    """

    def __init__(self) -> None:
        self._limits: dict[str, dict[str, int]] = {}
        self._stated: Counter[str] = Counter()

    def put(self, csi_node: CsiNode) -> frozenset[str]:
        """Take what one machine states. Returns the drivers that have become, or ceased to be, limited."""
        stated = {
            driver.name: min(max(0, driver.allocatable.count), NO_LIMIT)
            for driver in csi_node.spec.drivers
            if driver.name and driver.allocatable is not None and driver.allocatable.count is not None
        }
        return self._replace(csi_node.metadata.name, stated)

    def remove(self, name: str) -> frozenset[str]:
        """A machine states nothing any more."""
        return self._replace(name, {})

    def counts(self, driver: str) -> bool:
        """Whether volumes of a driver are counted."""
        return driver in self._stated

    def amounts(self, name: str) -> Iterator[tuple[str, int]]:
        """Yield resource and amount of every counted driver for a machine."""
        limits = self._limits.get(name, {})
        for driver in self._stated:
            yield attachments(driver), limits.get(driver, NO_LIMIT)

    def _replace(self, name: str, stated: dict[str, int]) -> frozenset[str]:
        before = self._limits.pop(name, {})
        if stated:
            self._limits[name] = stated
        counted = set(self._stated)
        self._stated.update(list(stated))
        self._stated.subtract(list(before))
        self._stated = +self._stated
        return frozenset(counted ^ set(self._stated))


def attachments(driver: str) -> str:
    """Return the resource that counts attached volumes of a driver."""
    return ATTACHMENTS + driver
