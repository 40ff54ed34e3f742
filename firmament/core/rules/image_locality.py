"""ImageLocality: a machine costs a task less if it already has the task's images, especially large ones.

The rule refuses no machine. ``ImageIndex.scores`` in ``selectors/machine_contents.py`` computes the score;
``MIN_IMAGE_BYTES`` in that file says from which size on images count.
"""

from __future__ import annotations

from cost_models.interface import Bool
from firmament.core.constraints.preferences import SoftCost
from firmament.core.model import TaskClass
from firmament.core.rules.framework.node_rule import MachineRefusal, NodeRule, cost_of_score
from firmament.core.state.machines import MachineTable

WEIGHT = 1
"""kube-scheduler's default weight of the plugin's score."""


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
        locality = machines.images.scores(shape.images, len(machines))
        return None if locality is None else cost_of_score(WEIGHT, locality, locality)
