"""Machines that hold images, for tests."""

from __future__ import annotations

from firmament.core.model import Image
from firmament.core.selectors.machine_contents import ImageIndex

MIB = 2**20


class Machines(ImageIndex):
    """An index over so many machines."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count


def index(*rows: dict[str, int]) -> Machines:
    """An index over machines that hold these images, sizes in MiB."""
    made = Machines(len(rows))
    for row, images in enumerate(rows):
        made.set(row, held(images))
    return made


def held(images: dict[str, int]) -> tuple[Image, ...]:
    return tuple(Image((name,), size * MIB) for name, size in images.items())
