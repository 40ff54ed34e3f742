"""The section ``queues`` of the configuration."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from protos.conventions.configuration import Section

QueueSource: TypeAlias = Literal["kueue", "volcano", "kai", "koordinator", "scheduler-plugins"]
"""A project whose queues can be read."""

PreemptionStrategy: TypeAlias = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
"""A comparison of shares, by Kueue's names."""

SOURCES: Final[tuple[QueueSource, ...]] = get_args(QueueSource)
"""All projects. A pod that is in queues of several projects counts for the first that the configuration names."""


def _accept_one(value: object) -> object:
    """Return a list for the shorthand ``source: kueue``."""
    return [value] if isinstance(value, str) else value


def _check_strategies(strategies: tuple[PreemptionStrategy, ...]) -> tuple[PreemptionStrategy, ...]:
    """Return the strategies; raise ``ValueError`` if there are none, or one twice."""
    if not strategies or len(set(strategies)) < len(strategies):
        raise ValueError("names no strategy, or one twice; name one or both of them once")
    return strategies


class QueueOptions(Section):
    """The section ``queues``: which projects' queues are read, and who admits pods of Kueue's queues.

    By default no queues are read. With ``admission: kueue``, Kueue admits the pods of its own queues, and their quotas
    are not enforced here; with ``poseidon``, the rounds of the solver admit these pods. ``fair_sharing``, as in Kueue's
    own configuration: whether shares decide who borrows; ``preemption_strategies``: the comparisons of shares by which
    a queue that borrows may evict pods of one that borrows more, in the order in which they are tried.
    ``pod_set_flavors``: whether all pods of a pod set take the same flavor of a Kueue queue (``Same``), or each any of
    them (``Any``).
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
