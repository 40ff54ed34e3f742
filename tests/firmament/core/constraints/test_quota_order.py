"""What quotas borrow, in relation to what those above them could lend."""

from __future__ import annotations

import pytest

from firmament.core.board.board import Board
from firmament.core.constraints.quota_order import WEIGHTLESS, QuotaShares
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, scheduler, task_class, tasks


@pytest.mark.parametrize("weight", [1.0, 4.0, 0.0])
def test_a_share_is_what_is_borrowed_of_what_those_above_could_lend(weight):
    core = scheduler(
        machine("a"),
        flavor("any"),
        quota("cohort", {"any": {"cpu": 6000}}),
        quota("team", {"any": {"cpu": 2000}}, parent="cohort", fair=True, weight=weight),
        tasks(1, "t", content=task_class(100, queue="team")),
    )
    snapshot = core.open_round().snapshot
    assert snapshot is not None
    quotas = Board(snapshot.problem).residual.quotas
    assert quotas is not None
    shares, [draw] = QuotaShares(quotas.terms), quotas.terms.draws
    own = quotas.terms.tree.subtree[draw.node]
    assert shares.compute(draw.node, own) == 0.0
    assert shares.compute(draw.node, own - 1) == 0.0
    counted = 1 / weight if weight else WEIGHTLESS
    assert shares.compute(draw.node, own + 2000) == pytest.approx(250.0 * counted)
    top = quotas.use.list_path(draw.node)[-1]
    assert top != draw.node
    assert shares.compute(top, quotas.terms.tree.subtree[top] + 2000) == 0.0
