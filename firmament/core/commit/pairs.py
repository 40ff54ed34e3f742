"""Hard limits of pairs, looked at once more when a round is closed after events."""

from __future__ import annotations

from firmament.core.constraints.pairs import compile_pairs
from firmament.core.rules.pairs import PairState
from firmament.core.scoring.assessment import machine_columns
from firmament.core.snapshot.snapshot import Snapshot
from firmament.core.state.cluster import Cluster


def pairs_now(cluster: Cluster, snapshot: Snapshot) -> PairState | None:
    """Where pairs stand now, for the classes of a snapshot; None if nothing but votes could refuse a task a machine.

    Votes are left as the round counted them: they depend on the order in which tasks are counted, limits do not.
    """
    models = snapshot.configuration.pair_models
    if not models:
        return None
    columns = machine_columns(cluster, snapshot.assessed.machines.now)
    rules = compile_pairs(cluster, models, columns, snapshot.cls.tolist())
    return PairState(rules) if rules is not None and rules.limited else None
