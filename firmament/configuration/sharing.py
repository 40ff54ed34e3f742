"""The sections of the configuration about pods of ours that others get in the way of; the bridge heeds them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictBool, StrictInt

from firmament.configuration.sections import Duration, Section


class RecoverySection(Section):
    """What is done about pods that a kubelet refused after they had been bound.

    ``recreate_bare_pods`` (false): pods without a controller are created again under their names, at most
    ``max_recreations`` (5) times. Whoever may do that may create any pod, so it is off unless asked for.
    ``delete_replaced_pods`` (false): the failed pods that ReplicaSets, ReplicationControllers and Jobs leave behind are
    deleted.
    """

    recreate_bare_pods: StrictBool = False
    max_recreations: Annotated[StrictInt, Field(ge=1, le=1000)] = 5
    delete_replaced_pods: StrictBool = False


class AnnouncementSection(Section):
    """What is said of pods that stay pending.

    ``counts_after`` (60 s): how long the counts in it may be out of date; reasons are told at once.
    """

    counts_after: Duration = 60.0
