"""Every family of constraints keeps the promises of the protocol, and what says the same faster says the same."""

from __future__ import annotations

from copy import deepcopy
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cost_models.interface import Int64, JointRows
from cost_models.pairs import PairTerms
from firmament.core.constraints.constraint import Constraint, Constraints
from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.model_limits import ModelConstraint, ModelLimits
from firmament.core.constraints.pairs import PairRules, PairState
from firmament.core.flow.problem import Assignments
from firmament.core.flow.residual import Residual
from firmament.core.reasons import AnyReason
from tests.firmament.core.constraints.team_isolation import Teams
from tests.firmament.core.constraints.test_pairs import KINDS, MACHINES, terms
from tests.programs.differential.drive import core
from tests.programs.differential.generate import WIDE, case
from tests.programs.differential.translation import Classes
from tests.support.core import problem
from tests.support.histories.holding import SeatLedger

seeds = st.integers(0, 2**32)


def verdicts(constraint: Constraint, classes: int) -> list[list[tuple[AnyReason, list[bool]]]]:
    return [
        [(reason, refused.tolist()) for reason, refused in constraint.refusals(cls)] for cls in range(classes)
    ]


def keeps_its_promises(
    constraint: Constraint, classes: int, machines: int, random: Random, *, gives_back: bool = True
) -> None:
    """Walk at random, and compare on the way what is asked for one machine, some machines and all."""
    for _ in range(6):
        before = verdicts(constraint, classes)
        at: Int64 = np.array([random.randrange(machines) for _ in range(3)])
        for cls in range(classes):
            refused = constraint.refusals(cls)
            for machine in range(machines):
                assert constraint.allows(cls, machine) == (not any(mask[machine] for _, mask in refused))
            some = constraint.refusals(cls, at)
            assert {reason: mask[at].tolist() for reason, mask in refused if mask[at].any()} == {
                reason: mask.tolist() for reason, mask in some if mask.any()
            }
            if not constraint.involves(cls):
                assert not refused
        twin = deepcopy(constraint)
        cls, machine = random.randrange(classes), random.randrange(machines)
        twin.add(cls, machine)
        assert verdicts(constraint, classes) == before
        if gives_back:
            twin.add(cls, machine, -1)
            assert verdicts(twin, classes) == before
        if constraint.allows(cls, machine):
            constraint.add(cls, machine)


@pytest.mark.parametrize("seed", range(12))
def test_rules_between_tasks(seed: int):
    snapshot = core(case(seed, WIDE), Classes()).open_round().snapshot
    assert snapshot is not None
    rules = snapshot.problem.rules
    if rules.of:
        keeps_its_promises(
            RuleState(rules), snapshot.problem.classes, snapshot.problem.machines, Random(seed)
        )


@given(terms(), st.booleans(), seeds)
def test_pairs(pairs: PairTerms, linked: bool, seed: int):
    none = np.empty(0, dtype=np.int64)
    kind = np.append(np.arange(KINDS), -1)
    state = PairState(PairRules(pairs, 100.0, kind, none, none))
    keeps_its_promises(state, KINDS + 1, MACHINES, Random(seed))


@given(terms(links=True), seeds)
def test_pairs_on_links(pairs: PairTerms, seed: int):
    none = np.empty(0, dtype=np.int64)
    state = PairState(PairRules(pairs, 100.0, np.arange(KINDS), none, none))
    keeps_its_promises(state, KINDS, MACHINES, Random(seed))


@given(seeds)
def test_a_models_constraint(seed: int):
    random = Random(seed)
    rack = np.array([random.randint(-1, 2) for _ in range(5)])
    teams = Teams(rack, np.zeros((3, 3), dtype=np.int64), 2)
    keeps_its_promises(ModelConstraint("teams", np.array([0, 1, -1, 2]), teams), 4, 5, random)


def joint_rows(random: Random, shapes: int, machines: int) -> JointRows:
    return JointRows(
        np.array([random.randint(-1, 2) for _ in range(machines)]),
        np.array([random.randint(0, 3) for _ in range(shapes)]),
        np.array([random.randint(0, 6) for _ in range(3)]),
        "node(s) were full",
    )


@given(seeds, st.booleans())
def test_models_limits_and_the_room_of_a_problem(seed: int, with_ledger: bool):
    """`Residual` says in columns what resources and `ModelLimits` say one by one."""
    random = Random(seed)
    shapes, machines = 3, 5
    joint = [joint_rows(random, shapes, machines) for _ in range(random.randint(0, 2))]
    ledgers = [
        SeatLedger(np.array([random.randint(0, 2) for _ in range(machines)]), np.array([True, False, True]))
    ]
    ledgers = ledgers if with_ledger else []
    limits = ModelLimits(joint, ledgers, np.arange(shapes))
    keeps_its_promises(deepcopy(limits), shapes, machines, random, gives_back=not ledgers)
    given_problem = problem(
        tasks=[9] * shapes,
        requests=[[random.randint(0, 3)] for _ in range(shapes)],
        free=[[random.randint(0, 6)] for _ in range(machines)],
        joint=joint,
    )
    residual = Residual(given_problem)
    residual.ledgers = [ledger.copy() for ledger in ledgers]
    free = given_problem.free[:, 0].copy()
    for _ in range(8):
        cls, machine = random.randrange(shapes), random.randrange(machines)
        request = int(given_problem.requests[cls, 0])
        for at in range(machines):
            expected = (request == 0 or free[at] >= request) and limits.allows(cls, at)
            assert bool(residual.has_room(cls)[at]) == expected
            assert (residual.count_fitting(np.array([cls]), np.array([at]))[0] > 0) == expected
        if residual.has_room(cls)[machine]:
            residual.book_assignments(
                Assignments(np.array([cls]), np.array([machine]), np.ones(1, dtype=np.int64))
            )
            limits.add(cls, machine)
            free[machine] -= request


def test_limits_with_ledgers_give_nothing_back():
    limits = ModelLimits(
        [], [SeatLedger(np.ones(1, dtype=np.int64), np.array([True]))], np.zeros(1, dtype=np.int64)
    )
    with pytest.raises(ValueError, match="gives nothing back"):
        limits.add(0, 0, -1)


@given(seeds)
def test_several_as_one(seed: int):
    random = Random(seed)
    parts = [
        ModelConstraint(
            "teams", np.array([0, 1, -1, 2]), Teams(np.array(rack), np.zeros((3, 3), dtype=np.int64), 1)
        )
        for rack in ([0, 0, 1, 1, -1], [2, 1, 0, -1, 0])
    ]
    both = Constraints([parts[0], None, parts[1]])
    keeps_its_promises(deepcopy(both), 4, 5, random)
    for _ in range(8):
        cls, machine = random.randrange(4), random.randrange(5)
        allowed = all(part.allows(cls, machine) for part in parts)
        assert both.admit(cls, machine) == allowed
