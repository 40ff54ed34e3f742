"""Rounds with rules between tasks, saved and run again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cost_models.interface import Int64
from firmament.core.constraints.ruleset import (
    NO_RULES,
    Attraction,
    ClassRules,
    Counter,
    Exclusion,
    Inclination,
    PreferredSpread,
    RequiredSpread,
    RuleSet,
)
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.placement.outcome import no_timer
from firmament.core.reasons import Reason
from firmament.saved_rounds import SavedRoundError
from firmament.saved_rounds.replaying import replay
from firmament.saved_rounds.saved_arrays import decode_arrays, encode_arrays
from firmament.saved_rounds.saving import RoundRecord, decode_round, encode_round
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.saved_rounds.rounds import VERSIONS, entries, refusal
from tests.programs.differential.drive import core
from tests.programs.differential.generate import WIDE, case
from tests.programs.differential.translation import Classes
from tests.support.core import problem
from tests.support.effort import examples

NOTHING = Assignments.empty()


def record(seed: int) -> RoundRecord:
    """A round over a random cluster with rules of every kind."""
    scheduler = core(case(seed, WIDE), Classes())
    opened = scheduler.open_round()
    assert opened.snapshot is not None
    placement = opened.solve()
    return RoundRecord("c", opened.snapshot, placement, scheduler.close_round(opened, placement))


def saved_files(seed: int) -> Mapping[str, bytes]:
    return encode_round(record(seed), VERSIONS)


def plain(value: object) -> object:
    """A rule, or a part of one, as plain comparable values."""
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.tolist())
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if hasattr(value, "__slots__"):
        return (type(value).__name__, *(plain(getattr(value, name)) for name in value.__slots__))
    return value


def described(rules: RuleSet) -> object:
    return (
        [plain(counter) for counter in rules.counters],
        {cls: plain(own) for cls, own in rules.of.items()},
        dict(rules.unsettled),
    )


def test_rules_come_back_as_they_were():
    kinds: set[str] = set()
    for seed in range(examples(30)):
        opened = core(case(seed, WIDE), Classes()).open_round()
        assert opened.snapshot is not None
        made = opened.snapshot.problem
        rules = made.rules
        kinds |= {
            name
            for own in rules.of.values()
            for name in ("adds", "exclusions", "attraction", "spreadings", "inclinations", "soft_spreadings")
            if getattr(own, name)
        }
        again, _ = decode_arrays(encode_arrays(made, NOTHING))
        assert described(again.rules) == described(rules)
    assert len(kinds) == 6


def test_what_tasks_lean_on_comes_back():
    rules = RuleSet(_counters(2), {}, {(1, 0): "uid-é", (0, 1): "b"})
    again, _ = decode_arrays(encode_arrays(_problem(rules), NOTHING))
    assert described(again.rules) == described(rules)


@pytest.mark.parametrize("seed", range(8))
def test_a_saved_round_with_rules_comes_out_the_same(seed: int):
    done = replay(decode_round(saved_files(seed)), OrToolsSolver(), no_timer)
    assert (done.same, done.moved) == (True, 0)
    assert done.placed == done.then.placed


def test_rules_decide_what_comes_out():
    differ = 0
    for seed in range(8):
        saved = decode_round(saved_files(seed))
        without = replace(saved, problem=replace(saved.problem, rules=NO_RULES))
        differ += not replay(without, OrToolsSolver(), no_timer).same
    assert differ > 4


def test_a_round_without_rules_has_none():
    assert decode_arrays(encode_arrays(_problem(NO_RULES), NOTHING))[0].rules == NO_RULES


# --- what cannot be saved, or cannot have been -----------------------------------------------------------------------


class OneMore:
    """A ledger with room for anything."""

    reason = "node(s) cannot align"

    def copy(self) -> OneMore:
        return self


def test_a_round_with_a_ledger_says_that_it_cannot_be_run_again():
    content = encode_arrays(replace(_problem(NO_RULES), ledgers=(OneMore(),)), NOTHING)  # type: ignore[arg-type]  # never booked
    with pytest.raises(
        SavedRoundError, match=r"^problem\.npz: .*ledger \(node\(s\) cannot align\).*cannot be run again"
    ):
        decode_arrays(content)


@pytest.mark.parametrize("change", [{"most": {0: 1}}, {"model_shape": np.zeros(2, np.int64)}])
def test_a_derived_problem_is_not_saved(change: dict[str, object]):
    with pytest.raises(ValueError, match="derived within a round"):
        encode_arrays(replace(_problem(NO_RULES), **change), NOTHING)  # type: ignore[arg-type]  # fields by name


def _counters(count: int) -> list[Counter]:
    def of(*numbers: int) -> Int64:
        return np.array(numbers, dtype=np.int64)

    return [
        Counter(of(0, 1, -1), of(index, 2), of(0, index), coarse=bool(index % 2)) for index in range(count)
    ]


def _problem(rules: RuleSet) -> PlacementProblem:
    return replace(problem(tasks=[2, 1], requests=[[1], [1]], free=[[2]] * 3), rules=rules)


ZONE = np.array([0, 1, -1], dtype=np.int64)
FAR = np.array([0, 1, 2], dtype=np.int64)
RULES = ClassRules(
    adds=(0,),
    exclusions=(Exclusion(1, Reason.TOO_NEAR),),
    attraction=Attraction((0, 1), own=True, reason=Reason.NOT_NEAR),
    spreadings=(RequiredSpread(0, ZONE, np.array([True, False]), 2, 3, 1, Reason.SKEWED, Reason.NO_DOMAIN),),
    inclinations=(Inclination(1, -7),),
    soft_spreadings=(PreferredSpread(0, ZONE, 1.5, 1),),
)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"adds": (2,)}, "rules.of[1].adds holds numbers out of range"),
        ({"adds": (0.5,)}, "Expected `int`, got `float` - at `$.problem.rules.of[...].adds[0]`"),
        (
            {"exclusions": (Exclusion(2, Reason.TOO_NEAR),)},
            "rules.of[1].exclusions[0].counter holds numbers out of range",
        ),
        (
            {"attraction": Attraction((-1,), own=True, reason=Reason.NOT_NEAR)},
            "rules.of[1].attraction.counters holds numbers out of range",
        ),
        (
            {"spreadings": (replace(RULES.spreadings[0], key_domain=FAR),)},
            "rules.of[1] spreads over other domains than its counters count",
        ),
        (
            {"soft_spreadings": (replace(RULES.soft_spreadings[0], key_domain=FAR),)},
            "rules.of[1] spreads over other domains than its counters count",
        ),
        (
            {"spreadings": (replace(RULES.spreadings[0], counted=np.array([True])),)},
            "rules.of[1] spreads over other domains than its counters count",
        ),
        (
            {"spreadings": (replace(RULES.spreadings[0], key_domain=ZONE[:2]),)},
            "rules.of[1].spreadings[0].key_domain has the size (2,), not (3,)",
        ),
    ],
)
def test_rules_that_cannot_have_been_saved_are_refused_in_one_line(change: dict[str, Any], fault: str):
    given = RuleSet(_counters(2), {1: RULES}, {(0, 1): "uid"})
    decode_arrays(encode_arrays(_problem(given), NOTHING))  # as they are they can be read
    assert refusal(_problem(replace(given, of={1: replace(RULES, **change)}))) == fault


def test_counters_that_cannot_have_been_saved_are_refused():
    one = _counters(1)[0]
    for change, fault in (
        (replace(one, settled=ZONE[:1]), "rules.counters[0] counts in other domains than it has"),
        (replace(one, domain=FAR), "rules.counters[0] counts in other domains than it has"),
        (replace(one, domain=ZONE[:2]), "rules.counters[0].domain has the size (2,), not (3,)"),
        (replace(one, domain=ZONE - 1), "rules.counters[0].domain holds numbers out of range"),
    ):
        assert refusal(_problem(RuleSet([change]))) == fault


def test_classes_and_counters_that_are_not_there_are_refused():
    assert refusal(_problem(RuleSet(_counters(2), {2: RULES}))) == "rules.of holds numbers out of range"
    for key in ((0, 7), (2, 0)):
        fault = "rules.unsettled names no counter and domain"
        assert refusal(_problem(RuleSet(_counters(2), {}, {key: "uid"}))) == fault


def test_equal_columns_of_domains_are_saved_once():
    one, many = (entries(encode_arrays(_problem(RuleSet(_counters(n))), NOTHING)) for n in (1, 50))
    assert one.keys() == many.keys()
    assert many["pool <i8"].tolist().count(-1) == 1
