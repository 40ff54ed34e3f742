"""What preemption is tuned by; each field bounds work in a round that may otherwise go on for long."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PreemptionTuning:
    """Handed down with ``Prospect``."""

    most_paired: int = 256
    """Classes of tasks that belong to pairs which are tried in a round, the most important first."""
    most_gangs: int = 64
    """Gangs of one priority that are tried in a round; each is tried by itself."""
    attempts: int = 64
    """Other sets of victims that are tried in a round."""
    few_tasks: int = 32
    """Tasks that have found places up to which other sets are tried ..."""
    few_machines: int = 128
    """... on as many machines at most."""
    most_passes: int = 1_000
    """Passes of a round; each gives at least one task a place."""
    chunk: int = 4_096
    """Machines on which bundles are looked for together; bounds memory."""
    most_found: int = 32
    """Machines beyond the number of tasks that wait on which bundles are looked for, per class and pass, where that
    takes questions to ledgers."""
    most_questions: int = 20_000
    """Questions to ledgers in a round, and to models for one group: some tenths of a second to seconds."""
    spare_arcs: int = 64
    """Machines per class beyond twice its tasks that enter the network which chooses among bundles."""
    most_moves: int = 2_000
    """Places that are looked at again per priority, for room that has become free elsewhere."""
    group_calls: int = 64
    """Times that the places of one group are shared out over the tree."""
