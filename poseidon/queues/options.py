"""Defines the section ``queues`` of the configuration."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from protos.configuration.sections import Section

QueueSource: TypeAlias = Literal["kueue", "volcano", "kai", "koordinator", "scheduler-plugins"]
"""A project whose queues can be read."""

PreemptionStrategy: TypeAlias = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
"""A comparison of shares after which pods may be evicted, by Kueue's names."""

SOURCES: Final[tuple[QueueSource, ...]] = get_args(QueueSource)
"""All projects; a pod in queues of several projects counts for the first project that the configuration names."""


def _accept_one(value: object) -> object:
    """Return a list with the value if the configuration gives one name, such as ``source: kueue``."""
    return [value] if isinstance(value, str) else value


def _check_strategies(strategies: tuple[PreemptionStrategy, ...]) -> tuple[PreemptionStrategy, ...]:
    """Return the strategies; raise ``ValueError`` if the list is empty, or names a strategy twice."""
    if not strategies or len(set(strategies)) < len(strategies):
        raise ValueError("names no strategy, or one twice; name one or both of them once")
    return strategies


class QueueOptions(Section):
    """The section ``queues``: which projects' queues are read, and which program admits pods of Kueue's queues.

    By default no queues are read. With ``admission: kueue``, Kueue admits the pods of its own queues, and their
    quotas are not enforced here. With ``poseidon``, the rounds of the solver admit these pods. ``fair_sharing``, as
    in Kueue's own configuration, says whether shares decide which queue borrows. ``preemption_strategies`` are the
    comparisons of shares after which a queue that borrows may evict pods of a queue that borrows more, in the order
    in which they are tried. ``pod_set_flavors`` says whether all pods of a pod set use the same flavor of a Kueue
    queue (``Same``), or each pod any of its flavors (``Any``).
    """

    source: Annotated[
        tuple[QueueSource, ...],
        BeforeValidator(_accept_one),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "string", "enum": list(SOURCES)},
                    {"type": "array", "items": {"type": "string", "enum": list(SOURCES)}},
                ]
            }
        ),
    ] = ()
    admission: Literal["kueue", "poseidon"] = "kueue"
    fair_sharing: bool = False
    preemption_strategies: Annotated[tuple[PreemptionStrategy, ...], AfterValidator(_check_strategies)] = (
        "LessThanOrEqualToFinalShare",
        "LessThanInitialShare",
    )
    pod_set_flavors: Literal["Same", "Any"] = "Same"

    @property
    def admits(self) -> bool:
        """Whether the quotas of some project's queues are enforced here."""
        return any(self.enforces(source) for source in self.source)

    def enforces(self, source: QueueSource) -> bool:
        """Return whether the quotas of a project's queues are enforced here."""
        return source in self.source and (source != "kueue" or self.admission == "poseidon")
