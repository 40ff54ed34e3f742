"""Builders for rules between tasks, in terms of counters and domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.ruleset import ClassRules, Counter, PreferredSpread, RequiredSpread, RuleSet
from firmament.core.model import Requirement, SpreadRule, TaskSelector, TaskTerm
from firmament.core.reasons import Reason


def ints(*numbers: int) -> Int64:
    """int64[N]."""
    return np.array(numbers, dtype=np.int64)


def counter(
    domain: Sequence[int], start: Sequence[int] | None = None, settled: Sequence[int] | None = None
) -> Counter:
    """A counter over machines with these domains; empty at the start, and all settled, unless told otherwise."""
    count = max(domain, default=-1) + 1
    begin = ints(*([0] * count if start is None else start))
    sizes = np.bincount(ints(*domain)[ints(*domain) >= 0], minlength=count)
    return Counter(
        ints(*domain),
        begin,
        begin if settled is None else ints(*settled),
        coarse=bool((sizes > 1).any()),
    )


def spreading(
    number: int,
    domain: Sequence[int],
    *,
    counted: Sequence[bool] | None = None,
    max_skew: int = 1,
    min_domains: int = 0,
    own: int = 1,
) -> RequiredSpread:
    """A spread rule on counter ``number``; all domains count unless told otherwise."""
    every = [True] * (max(domain) + 1)
    return RequiredSpread(
        number,
        ints(*domain),
        np.array(every if counted is None else counted, dtype=np.bool_),
        max_skew,
        min_domains,
        own,
        Reason.SKEWED,
        Reason.NO_DOMAIN,
    )


def soft_spreading(
    number: int, domain: Sequence[int], *, factor: float = 1.0, max_skew: int = 1
) -> PreferredSpread:
    """A preference for even domains."""
    return PreferredSpread(number, ints(*domain), factor, max_skew)


def state(counters: Sequence[Counter], of: Mapping[int, ClassRules]) -> RuleState:
    """The state of rules at the beginning of a round."""
    return RuleState(RuleSet(counters, of))


def app(*names: str, **more: object) -> TaskSelector:
    """Tasks with one of these values of the label ``app``."""
    return TaskSelector(labels=(Requirement("app", "In", names),), **more)  # type: ignore[arg-type]  # fields by name


def near(name: str, key: str = "zone", weight: int = 0) -> tuple[TaskTerm, ...]:
    """One affinity (or anti-affinity) term about an app."""
    return (TaskTerm(key, app(name), weight),)


def spread(name: str, key: str = "zone", max_skew: int = 1, **more: object) -> tuple[SpreadRule, ...]:
    """One required spread rule about an app."""
    given = {"required": True, **more}
    return (SpreadRule(key, app(name), max_skew, **given),)  # type: ignore[arg-type]  # fields by name
