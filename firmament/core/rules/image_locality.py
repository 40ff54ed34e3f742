"""ImageLocality: a machine costs a task less if it already has the task's images, especially large ones.

The rule refuses no machine. As in kube-scheduler, a machine's score is the sum of the sizes of a task's images that it
has, between two thresholds. Each size is scaled by the share of machines that have the image, so that one machine with
a rare image does not attract all tasks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Bool, Float64
from firmament.core.constraints.preferences import SoftCost
from firmament.core.model import TaskClass
from firmament.core.rules.framework.node_rule import MachineRefusal, NodeRule
from firmament.core.selectors.machine_contents import ImageIndex
from firmament.core.state.machines import MachineTable

WEIGHT = 1
"""kube-scheduler's default weight of the plugin's score."""

MIN_IMAGE_BYTES = 23 * 2**20
"""If a machine's images have fewer bytes than this, it gets no score."""

MAX_CONTAINER_IMAGE_BYTES = 1000 * 2**20
"""If a machine's images have at least this many bytes per container, it gets the full score."""


class ImageLocality(NodeRule):
    """Scores a machine by the task's images that it has.

    Each image counts with its size, times the share of machines that have it.
    """

    name = "ImageLocality"
    reasons = ()
    reads_of_task = ()
    reads_of_machine = ()
    scores_tasks_with = ("images",)

    def refusals(self, machines: MachineTable, shape: TaskClass) -> tuple[MachineRefusal, ...]:  # noqa: ARG002
        """Return no refusals, because images only affect costs."""
        return ()

    def score(self, machines: MachineTable, shape: TaskClass, feasible: Bool) -> SoftCost | None:  # noqa: ARG002
        """Return the cost of images that machines lack; None if no machine has any of the task's images."""
        locality = score_images(machines.images, shape.images, len(machines))
        return None if locality is None else SoftCost.from_score(WEIGHT, locality, locality)


def score_images(index: ImageIndex, images: Sequence[str], machines: int) -> Float64 | None:
    """Return a score, 0 to 100, by the task's ``images`` that each machine has: float64[``machines``].

    Return None if no machine has any of the images.
    """
    total = index.sum_scaled_sizes(images, machines)
    if total is None:
        return None
    least, most = MIN_IMAGE_BYTES, MAX_CONTAINER_IMAGE_BYTES * len(images)
    return np.floor(100.0 * (np.clip(total, least, most) - least) / (most - least))
