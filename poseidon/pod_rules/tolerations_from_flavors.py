"""Defines tolerations that pods get from the flavors of their queues."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from protos.firmament.v1 import scheduler_pb2 as pb

NO_SCHEDULE = "NoSchedule"


class GivenToleration(NamedTuple):
    """A toleration of taints that keep new pods off a node."""

    key: str
    operator: str
    value: str

    def to_proto(self) -> pb.Toleration:
        """Return the toleration as a message of the protocol."""
        return pb.Toleration(key=self.key, operator=self.operator, value=self.value, effect=NO_SCHEDULE)


GivenTolerations: TypeAlias = tuple[GivenToleration, ...]
