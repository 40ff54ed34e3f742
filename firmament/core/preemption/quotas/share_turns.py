"""Orders the possible victims of a unit (task or gang) by fair shares, where these decide who may be evicted."""

from __future__ import annotations

from collections.abc import Sequence

from cost_models.interface import Int64
from firmament.core.constraints.quota_order import QuotaShares
from firmament.core.constraints.remaining_quota import RemainingQuota
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.quotas.units import QuotaUnit, find_drawn_at, put_unit
from firmament.core.preemption.quotas.victim_sets import add_companions
from firmament.core.preemption.quotas.victims import ShareRule
from firmament.solvers.base import Solver


class ShareTurns:
    """Lists victims in the order of `ShareRule`; the members of a gang are adjacent."""

    def __init__(self, shares: QuotaShares, node: Int64) -> None:
        """``node``: int64[V], the quota node that each possible victim draws on."""
        self._shares = shares
        self._node = node

    def list_candidates(
        self,
        state: PreemptionState,
        unit: QuotaUnit,
        candidates: list[int],
        solver: Solver,
        *,
        lenient: bool,
    ) -> list[int]:
        """Return the candidates that fair shares allow to evict one after another, in that order."""
        machines = _guess_machines(state, unit, candidates, solver)
        if machines is None:
            return []
        ordered = self.order(state, unit, machines, candidates, lenient=lenient)
        return [victim for group in ordered for victim in group]

    def order(
        self,
        state: PreemptionState,
        unit: QuotaUnit,
        places: Sequence[tuple[int, int]],
        victims: Sequence[int],
        *,
        lenient: bool,
    ) -> list[Sequence[int]]:
        """Return the ``victims`` that fair shares allow to evict, in the order of leaving; a gang is one group.

        ``places``: (class, machine) of each task of the unit for which the victims would leave.
        """
        quotas, terms = state.quotas, state.problem.quotas
        assert quotas is not None
        assert terms is not None
        trial = quotas.copy()
        for cls, machine in places:
            trial.add(int(state.problem.shape[cls]), machine, 1)
        groups: dict[int, list[int]] = {}
        for number, victim in enumerate(victims):
            gang = int(state.preemption.gang[victim]) if len(state.spare) else -1
            gang = state.gangs.list_chain(gang)[-1] if gang >= 0 else -1
            groups.setdefault(gang if gang >= 0 else -number - 1, []).append(victim)

        def book(room: RemainingQuota, victim: int, count: int) -> None:
            kind = int(terms.kind[state.preemption.machine[victim]])
            room.draw_on(int(state.preemption.draw[victim]), kind, count)

        rule = ShareRule(self._shares, self._node, terms.strategies[unit.preemptor.node])
        preemptor = unit.preemptor._replace(columns=find_drawn_at(state, places))
        return rule.order(trial, preemptor, list(groups.values()), book, lenient=lenient)


def _guess_machines(
    state: PreemptionState, unit: QuotaUnit, candidates: list[int], solver: Solver
) -> list[tuple[int, int]] | None:
    """Return class and machine of each task of a unit as if quotas were unlimited.

    The result is None if not all tasks of the unit fit on machines, even after all candidates have left.
    """
    for leaving in ([], add_companions(state, candidates, [])):
        trial = state.copy()
        trial.quotas = None
        trial.evict(leaving)
        places = put_unit(trial, unit, solver)
        if places is not None:
            return places
    return None
