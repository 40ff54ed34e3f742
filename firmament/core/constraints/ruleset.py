"""The rules of a round as arrays over machines and domains.

Every rule between tasks is a condition on *counters*: how many tasks of some kind are in each domain of a topology. A
domain is the set of machines with one value of a label; for ports of the machine every machine is a domain of its own.
Placing a task changes the counters that count its class, and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cost_models.interface import Bool, Int64
from firmament.core.constraints.model_limits import ModelConstraint
from firmament.core.reasons import Reason


@dataclass(frozen=True, slots=True)
class Counter:
    """Tasks of one kind per domain.

    ``domain``: int64[M], -1 for machines whose tasks are not counted; ``start``: int64[D], tasks in each domain when
    the round begins; ``settled``: int64[D], those of them whose binding is done. ``coarse``: some domain holds several
    machines.
    """

    domain: Int64
    start: Int64
    settled: Int64
    coarse: bool


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A task may only enter domains in which ``counter`` counts nobody; ``reason``: why others are refused."""

    counter: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Attraction:
    """A task may only enter domains in which every one of ``counters`` counts somebody.

    While none of them counts anybody anywhere, a task that they would count itself (``own``) may enter any domain: the
    first of a group that wants to stay together.
    """

    counters: tuple[int, ...]
    own: bool
    #: why all other domains are refused
    reason: Reason


@dataclass(frozen=True, slots=True)
class RequiredSpread:
    """A limit on how unevenly tasks are spread over D domains."""

    counter: int
    """The counter of the tasks, by number."""
    key_domain: Int64
    """int64[M], domain of each machine by its label alone, in the counter's numbering; -1 without the label.
    """
    counted: Bool
    """bool[D], domains that take part in the minimum."""
    max_skew: int
    """How many tasks a domain may have more than the emptiest one, the new task included."""
    min_domains: int
    """With fewer counted domains, the minimum is 0."""
    own: int
    """1 if the counter counts the task itself, else 0."""
    reason: Reason
    """Why domains with too many tasks are refused."""
    lacking: Reason
    """Why machines without the label are refused."""


@dataclass(frozen=True, slots=True)
class Inclination:
    """Each task that ``counter`` counts in a domain makes it better by ``weight`` (worse if negative)."""

    counter: int
    weight: int


@dataclass(frozen=True, slots=True)
class PreferredSpread:
    """A preference for even domains: a domain costs its count x ``factor`` + ``max_skew`` - 1.

    ``key_domain`` as in `RequiredSpread`; ``factor`` is log(domains + 2) (kube-scheduler's topologyNormalizingWeight).
    """

    counter: int
    key_domain: Int64
    factor: float
    max_skew: int


@dataclass(frozen=True, slots=True)
class ClassRules:
    """The rules of one class of tasks."""

    adds: tuple[int, ...] = ()
    """Counters that count its tasks."""
    exclusions: tuple[Exclusion, ...] = ()
    """Tasks that it must not be near."""
    attraction: Attraction | None = None
    """Tasks that it must be near, None for none."""
    spreadings: tuple[RequiredSpread, ...] = ()
    """Required spread."""
    inclinations: tuple[Inclination, ...] = ()
    """Preferred nearness or distance."""
    soft_spreadings: tuple[PreferredSpread, ...] = ()
    """Preferred spread."""
    modelled: bool = False
    """Whether constraints of models concern it as well."""

    @property
    def binding(self) -> bool:
        """Whether some machine may be refused to the class because of where other tasks are."""
        return bool(self.exclusions or self.attraction or self.spreadings or self.modelled)

    @property
    def matters(self) -> bool:
        """Whether the places of its tasks may matter to others."""
        return bool(self.adds) or self.modelled

    @property
    def soft(self) -> bool:
        """Whether the cost of a machine depends on where other tasks are."""
        return bool(self.inclinations or self.soft_spreadings)

    @property
    def checks(self) -> int:
        """How many counters say where a task of the class may go."""
        near = len(self.attraction.counters) if self.attraction is not None else 0
        return len(self.exclusions) + near + len(self.spreadings)

    def reasons(self) -> frozenset[Reason]:
        """Return for what machines may be refused to the class."""
        found = {each.reason for each in self.exclusions}
        if self.attraction is not None:
            found.add(self.attraction.reason)
        found.update(each.reason for each in self.spreadings)
        return frozenset(found)

    def drop_reasons(self, reasons: Collection[Reason]) -> ClassRules:
        """Return the same without what refuses machines for some reasons."""
        attraction = self.attraction
        return replace(
            self,
            attraction=None if attraction is None or attraction.reason in reasons else attraction,
            spreadings=tuple(each for each in self.spreadings if each.reason not in reasons),
            exclusions=tuple(each for each in self.exclusions if each.reason not in reasons),
        )

    def excludes_itself(self) -> bool:
        """Return whether two tasks of the class can never share a domain of some exclusion."""
        return any(exclusion.counter in self.adds for exclusion in self.exclusions)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All rules of a round.

    ``of``: problem class -> its rules; classes not in it know no rules and matter to none. ``unsettled``: (counter,
    domain) -> uid of a task that is about to be bound there, if only this task draws others into the domain.
    ``modelled``: constraints of models, as they stand when the round begins; never added to themselves.
    """

    counters: Sequence[Counter]
    of: Mapping[int, ClassRules] = field(default_factory=dict)
    unsettled: Mapping[tuple[int, int], str] = field(default_factory=dict)
    modelled: tuple[ModelConstraint, ...] = ()

    def rules(self, cls: int) -> ClassRules:
        """Return the rules of a class, empty ones if it has none."""
        return self.of.get(cls, _NONE)

    def matters_elsewhere(self, cls: int) -> bool:
        """Return whether where tasks of a class are may matter to others on other machines."""
        rules = self.rules(cls)
        return rules.modelled or any(self.counters[number].coarse for number in rules.adds)


_NONE = ClassRules()

NO_RULES = RuleSet([])
"""There are none."""
