"""Lets tasks stay whose eviction for quota turns out to be needless at the end of a round.

Units (tasks or gangs) that lack quota choose their victims one after another, and each unit chooses as few as
possible at that moment. Victims of a later unit may free so much that an earlier unit needs none. Each unit is
therefore tried once more as the last one: all other units are placed first, each with the victims that it chose, and
then the tried unit does with fewer victims if it can. If the other units find no places without the tried unit's
victims, the tried unit evicts the victims of later units in place of one of its needless workloads (a task or a gang).
Every unit that got places keeps places.

With fair shares, the order of the units stays as it is: in another order, the shares would choose other victims.
"""

from __future__ import annotations

from firmament.core.constraints.quota_terms import list_amounts
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.quotas.reclaim import QuotaReclaim
from firmament.core.preemption.quotas.units import QuotaUnit
from firmament.core.preemption.quotas.victim_sets import Reclaimed, add_companions

MOST_STEPS = 50
"""Most units with places for which victims are looked at again, as each trial repeats the steps of all others."""


def spare_needless_victims(reclaim: QuotaReclaim, begin: PreemptionState) -> None:
    """Let victims that were not needed stay; ``begin``: the state before the first step of ``reclaim``."""
    terms = begin.problem.quotas
    assert terms is not None
    if len(reclaim.steps) > MOST_STEPS or any(
        terms.fair[step.choice.unit.preemptor.node] for step in reclaim.steps
    ):
        return
    for choice in [step.choice for step in reclaim.steps if step.victims][:-1]:
        step = next(step for step in reclaim.steps if step.choice is choice)
        workloads = _list_workloads(reclaim.state, step.victims)
        needless = [each for each in workloads if _has_quota_with(reclaim.state, each)]
        if needless and not _come_last(reclaim, begin, step, workloads):
            for workload in needless:
                if _evict_for_later(reclaim, begin, step, workload):
                    break


def _come_last(
    reclaim: QuotaReclaim, begin: PreemptionState, step: Reclaimed, workloads: list[list[int]]
) -> bool:
    """Repeat all steps with ``step`` as the last one, and with fewer of its victims, grouped as ``workloads``.

    Returns whether some victims stay. Nothing changes if some unit finds no places in this order, or if all victims of
    ``step`` are needed.
    """
    state, steps = reclaim.state, reclaim.steps
    reclaim.begin_again(begin, ())
    for other in steps:
        again = reclaim.repeat(other, other.victims) if other is not step else None
        if again is not None:
            reclaim.accept(again)
    found = _find_fewest(reclaim, step, workloads) if len(reclaim.steps) == len(steps) - 1 else None
    if found is None:
        reclaim.begin_again(state, steps)
    else:
        reclaim.accept(found)
    return found is not None


def _evict_for_later(
    reclaim: QuotaReclaim, begin: PreemptionState, step: Reclaimed, needless: list[int]
) -> bool:
    """Repeat all steps, but let ``step`` evict the victims of all later ones, and not those that are ``needless``.

    Returns whether its queue allows that, and all units find places then; nothing changes if they do not.
    """
    state, steps = reclaim.state, reclaim.steps
    place = next(number for number, each in enumerate(steps) if each is step)
    going = [victim for each in steps[place:] for victim in each.victims if victim not in needless]
    reclaim.begin_again(begin, ())
    for number, each in enumerate(steps):
        victims = each.victims if number < place else going if number == place else []
        allowed = each is not step or _may_evict_all(reclaim, step.choice.unit, going)
        again = reclaim.repeat(each, victims) if allowed else None
        if again is None:
            reclaim.begin_again(state, steps)
            return False
        reclaim.accept(again)
    return True


def _may_evict_all(reclaim: QuotaReclaim, unit: QuotaUnit, victims: list[int]) -> bool:
    """Return whether a unit's queue allows that it evicts each of the victims, or a task in the same gang."""
    return set(victims) <= {*add_companions(reclaim.state, reclaim.sort_candidates(unit), [])}


def _find_fewest(reclaim: QuotaReclaim, step: Reclaimed, workloads: list[list[int]]) -> Reclaimed | None:
    """Return a step without those of its victims that are not needed, or None if all of them are."""
    found = reclaim.repeat(step, [])
    if found is None and len(workloads) > 1:
        left = step.victims
        for workload in reversed(workloads):
            fewer = [victim for victim in left if victim not in workload]
            less = reclaim.repeat(step, fewer) if fewer else None
            if less is not None:
                found, left = less, fewer
    return found


def _list_workloads(state: PreemptionState, victims: list[int]) -> list[list[int]]:
    """Return victims grouped by workload: the members of a gang that leaves as a whole form one group."""
    found: dict[tuple[bool, int], list[int]] = {}
    for victim in victims:
        gang = int(state.preemption.gang[victim]) if len(state.spare) else -1
        whole = state.gangs.find_outermost_left(gang, state.spare) if gang >= 0 else -1
        found.setdefault((whole >= 0, whole if whole >= 0 else victim), []).append(victim)
    return list(found.values())


def _has_quota_with(state: PreemptionState, workload: list[int]) -> bool:
    """Return whether there is quota for all incoming tasks even if a workload stays."""
    assert state.quotas is not None
    room, terms = state.quotas.copy(), state.quotas.terms
    for victim in workload:
        kind = int(terms.kind[state.preemption.machine[victim]])
        room.draw_on(int(state.preemption.draw[victim]), kind, 1)
    for cls, machine in state.taken:
        number = int(terms.draw[state.problem.shape[cls]])
        if number >= 0:
            draw = terms.draws[number]
            amounts = list_amounts(draw, terms.covers[terms.kind[machine]])
            if any(room.use.get_left(draw.node, column) < 0 for column, _ in amounts):
                return False
    return True
