"""Which placements of a round lean on others that are not settled yet: the ``depends_on`` of deltas.

A task that must be near another may be bound only once the other is: should that binding fail, the task would be where
nothing draws it. One settled task in the domain is enough; without any, the task leans on the first that was placed
there. (Topology spread and anti-affinity do not chain bindings: a binding that fails leaves an uneven domain or a free
place behind, which the task's next placement makes good.)
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.problem import PlacementProblem
from firmament.core.rules.ruleset import RuleSet


def leaders(
    problem: PlacementProblem, cls: Int64, machine: Int64, uids: list[str]
) -> dict[int, tuple[str, ...]]:
    """Uids that placements wait for, by index, for those that wait for any.

    ``cls``, ``machine``: int64[N], the placements in order, in terms of the problem; ``uids`` parallel to them.
    """
    rules = problem.rules
    if rules is None:
        return {}
    attracted = {each for each, own in rules.of.items() if own.attraction is not None}
    drawing = {
        number
        for own in rules.of.values()
        if own.attraction is not None
        for number in own.attraction.counters
    }
    if not drawing:
        return {}
    concerned = np.flatnonzero(
        np.isin(cls, [each for each, own in rules.of.items() if each in attracted or drawing & set(own.adds)])
    )
    first: dict[tuple[int, int], str] = dict(rules.unsettled)
    found: dict[int, tuple[str, ...]] = {}
    for index in concerned.tolist():
        each, at = int(cls[index]), int(machine[index])
        leans = _leans_on(rules, first, each, at)
        if leans:
            found[index] = leans
        for number in rules.rules(each).adds:
            domain = int(rules.counters[number].domain[at])
            if number in drawing and domain >= 0:
                first.setdefault((number, domain), uids[index])
    return found


def _leans_on(rules: RuleSet, first: dict[tuple[int, int], str], cls: int, machine: int) -> tuple[str, ...]:
    attraction = rules.rules(cls).attraction
    if attraction is None:
        return ()
    leans = []
    for number in attraction.counters:
        domain = int(rules.counters[number].domain[machine])
        if domain >= 0 and not rules.counters[number].settled[domain]:
            leader = first.get((number, domain))
            if leader is not None:
                leans.append(leader)
    return tuple(dict.fromkeys(leans))
