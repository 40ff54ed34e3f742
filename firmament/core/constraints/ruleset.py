"""Represents the rules of a round as arrays over machines and domains.

Every rule between tasks is a condition on *counters*: how many tasks of some kind are in each domain of a topology. A
domain is the set of machines with one value of a label; for host ports, every machine is a domain of its own. Placing
a task only changes the counters that count its class.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cost_models.interface import Bool, Int64
from firmament.core.constraints.model_limits import ModelConstraint
from firmament.core.reasons import Reason


@dataclass(frozen=True, slots=True)
class Counter:
    """The number of tasks of one kind in each domain.

    ``domain``: int64[M], the domain of each machine; -1 for machines whose tasks are not counted. ``start``:
    int64[D], tasks in each domain when the round begins. ``settled``: int64[D], how many tasks in each domain are
    bound when the round begins. ``coarse``: whether some domain has several machines.
    """

    domain: Int64
    start: Int64
    settled: Int64
    coarse: bool


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A task may only enter domains in which ``counter`` counts no task; ``reason``: why other domains are refused."""

    counter: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Attraction:
    """A task may only enter domains in which each of ``counters`` counts a task.

    A task that the counters would count itself (``own``) may enter any domain while none of them counts a task
    anywhere. Otherwise the first task of a group that wants to stay together could never be placed.
    """

    counters: tuple[int, ...]
    own: bool
    #: Why domains without such a task are refused.
    reason: Reason


@dataclass(frozen=True, slots=True)
class RequiredSpread:
    """Limits how unevenly tasks may be spread over D domains."""

    counter: int
    """The number of the counter that counts the tasks."""
    key_domain: Int64
    """int64[M], the domain of each machine by the constraint's label, numbered as in the counter; -1 without the
    label.
    """
    counted: Bool
    """bool[D], the domains that count for the minimum."""
    max_skew: int
    """The most tasks that a domain, including the new task, may have more than the emptiest domain."""
    min_domains: int
    """If fewer domains than this number count, the minimum is 0."""
    own: int
    """1 if the counter counts the task itself, otherwise 0."""
    reason: Reason
    """Why domains with too many tasks are refused."""
    lacking: Reason
    """Why machines without the topology label are refused."""


@dataclass(frozen=True, slots=True)
class Inclination:
    """A preference: a domain gets better by ``weight`` (if negative, worse) for each task that ``counter`` counts."""

    counter: int
    weight: int


@dataclass(frozen=True, slots=True)
class PreferredSpread:
    """A preference for even domains: a domain costs its count x ``factor`` + ``max_skew`` - 1.

    ``key_domain``: as in `RequiredSpread`. ``factor``: log(domains + 2) (kube-scheduler's topologyNormalizingWeight).
    """

    counter: int
    key_domain: Int64
    factor: float
    max_skew: int


@dataclass(frozen=True, slots=True)
class ClassRules:
    """The rules of one class of tasks."""

    adds: tuple[int, ...] = ()
    """Numbers of the counters that count the class's tasks."""
    exclusions: tuple[Exclusion, ...] = ()
    """Required anti-affinity: the tasks that a task of the class must not be near."""
    attraction: Attraction | None = None
    """Required affinity: the tasks that a task of the class must be near; None if the class requires none."""
    spreadings: tuple[RequiredSpread, ...] = ()
    """Required topology spread constraints."""
    inclinations: tuple[Inclination, ...] = ()
    """Preferred affinity and anti-affinity."""
    soft_spreadings: tuple[PreferredSpread, ...] = ()
    """Preferred topology spread constraints."""
    modelled: bool = False
    """Whether constraints of models also concern the class."""

    @property
    def binding(self) -> bool:
        """Whether the class may be refused some machine because of where other tasks are."""
        return bool(self.exclusions or self.attraction or self.spreadings or self.modelled)

    @property
    def matters(self) -> bool:
        """Whether other tasks may be affected by where the class's tasks are."""
        return bool(self.adds) or self.modelled

    @property
    def soft(self) -> bool:
        """Whether the cost of a machine depends on where other tasks are."""
        return bool(self.inclinations or self.soft_spreadings)

    @property
    def checks(self) -> int:
        """The number of counters that decide where a task of the class may go."""
        near = len(self.attraction.counters) if self.attraction is not None else 0
        return len(self.exclusions) + near + len(self.spreadings)

    def reasons(self) -> frozenset[Reason]:
        """Return the reasons for which the class may be refused machines."""
        found = {each.reason for each in self.exclusions}
        if self.attraction is not None:
            found.add(self.attraction.reason)
        found.update(each.reason for each in self.spreadings)
        return frozenset(found)

    def drop_reasons(self, reasons: Collection[Reason]) -> ClassRules:
        """Return the class's rules without those that refuse machines for ``reasons``."""
        attraction = self.attraction
        return replace(
            self,
            attraction=None if attraction is None or attraction.reason in reasons else attraction,
            spreadings=tuple(each for each in self.spreadings if each.reason not in reasons),
            exclusions=tuple(each for each in self.exclusions if each.reason not in reasons),
        )

    def excludes_itself(self) -> bool:
        """Return whether two tasks of the class can never share a domain, as an exclusion counts the class itself."""
        return any(exclusion.counter in self.adds for exclusion in self.exclusions)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All rules between tasks of a round.

    ``of``: rules by problem class; a class without an entry has no rules, and no rule counts its tasks.
    ``unsettled``: (counter, domain) -> uid of a task that is about to be bound there, if only this task attracts
    others to the domain. ``modelled``: constraints of models, as they are when the round begins; tasks are added only
    to copies of them.
    """

    counters: Sequence[Counter]
    of: Mapping[int, ClassRules] = field(default_factory=dict)
    unsettled: Mapping[tuple[int, int], str] = field(default_factory=dict)
    modelled: tuple[ModelConstraint, ...] = ()

    def rules(self, cls: int) -> ClassRules:
        """Return the rules of a class; empty rules if it has none."""
        return self.of.get(cls, _NONE)

    def matters_elsewhere(self, cls: int) -> bool:
        """Return whether tasks on other machines may be affected by where tasks of a class are."""
        rules = self.rules(cls)
        return rules.modelled or any(self.counters[number].coarse for number in rules.adds)


_NONE = ClassRules()

NO_RULES = RuleSet([])
"""The rules of rounds without rules between tasks."""
