"""Rounds with rules between tasks, saved and run again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from cost_models.interface import Int64
from firmament.artefacts.arrays import decode_arrays, encode_arrays
from firmament.artefacts.errors import ArtefactError
from firmament.artefacts.replaying import replay
from firmament.artefacts.saving import RoundRecord, decode_round, encode_round
from firmament.core.configuration import CoreConfiguration
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.placement.outcome import no_timer
from firmament.core.rules.ruleset import (
    Attraction,
    ClassRules,
    Counter,
    Exclusion,
    Inclination,
    RuleSet,
    SoftSpreading,
    Spreading,
)
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.artefacts.rounds import VERSIONS, changed, columns
from tests.differential.drive import core
from tests.differential.generate import WIDE, case
from tests.differential.translation import Classes
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
    return encode_round(record(seed), CoreConfiguration(), VERSIONS)


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
        if rules is None:
            continue
        kinds |= {
            name
            for own in rules.of.values()
            for name in ("adds", "exclusions", "attraction", "spreadings", "inclinations", "soft_spreadings")
            if getattr(own, name)
        }
        again, _ = decode_arrays(encode_arrays(made, NOTHING))
        assert again.rules is not None
        assert described(again.rules) == described(rules)
    assert len(kinds) == 6


def test_what_tasks_lean_on_comes_back():
    rules = RuleSet(_counters(2), {}, {(1, 0): "uid-é", (0, 1): "b"})
    again, _ = decode_arrays(encode_arrays(_problem(rules), NOTHING))
    assert again.rules is not None
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
        without = replace(saved, problem=replace(saved.problem, rules=None))
        differ += not replay(without, OrToolsSolver(), no_timer).same
    assert differ > 4


def test_a_round_without_rules_has_no_entries_of_them():
    found = columns(encode_arrays(_problem(None), NOTHING))
    assert [name for name in found if name.startswith("rules")] == ["rules.given"]
    assert decode_arrays(encode_arrays(_problem(None), NOTHING))[0].rules is None


# --- what cannot be saved, or cannot have been -----------------------------------------------------------------------


class OneMore:
    """A ledger with room for anything."""

    reason = "node(s) cannot align"

    def copy(self) -> OneMore:
        return self


def test_a_round_with_a_ledger_says_that_it_cannot_be_run_again():
    content = encode_arrays(replace(_problem(None), ledgers=(OneMore(),)), NOTHING)  # type: ignore[arg-type]  # never booked
    with pytest.raises(
        ArtefactError, match=r"^problem\.npz: .*ledger \(node\(s\) cannot align\).*cannot be run again"
    ):
        decode_arrays(content)


@pytest.mark.parametrize("change", [{"most": {0: 1}}, {"model_shape": np.zeros(2, np.int64)}])
def test_a_derived_problem_is_not_saved(change: dict[str, object]):
    with pytest.raises(ValueError, match="derived within a round"):
        encode_arrays(replace(_problem(None), **change), NOTHING)  # type: ignore[arg-type]  # fields by name


def _counters(count: int) -> list[Counter]:
    def of(*numbers: int) -> Int64:
        return np.array(numbers, dtype=np.int64)

    return [
        Counter(of(0, 1, -1), of(index, 2), of(0, index), coarse=bool(index % 2)) for index in range(count)
    ]


def _problem(rules: RuleSet | None) -> PlacementProblem:
    return replace(problem(tasks=[2, 1], requests=[[1], [1]], free=[[2]] * 3), rules=rules)


def _ruled() -> bytes:
    """A problem that has rules of every kind, saved."""
    zone = np.array([0, 1, -1], dtype=np.int64)
    own = ClassRules(
        adds=(0,),
        exclusions=(Exclusion(1, "no"),),
        attraction=Attraction((0, 1), own=True),
        spreadings=(Spreading(0, zone, np.array([True, False]), 2, 3, 1),),
        inclinations=(Inclination(1, -7),),
        soft_spreadings=(SoftSpreading(0, zone, 1.5, 1),),
    )
    rules = RuleSet(_counters(2), {1: own}, {(0, 1): "uid"})
    return encode_arrays(_problem(rules), NOTHING)


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("counters.start", None, "entry 'rules.counters.start' is missing"),
        ("of.key", np.array([2]), "rules.of.key holds numbers out of range"),
        ("of.value.adds", np.array([2]), "rules.of.value.adds holds numbers out of range"),
        ("of.value.adds", np.array([[0]]), "rules.of.value.adds has the size (1, 1), not (1,)"),
        ("of.value.adds", np.array([0.0]), "rules.of.value.adds is float64 of the size (1,), not int64"),
        (
            "of.value.exclusions.counter",
            np.array([2]),
            "rules.of.value.exclusions.counter holds numbers out of range",
        ),
        (
            "of.value.attraction.counters",
            np.array([-1, 0]),
            "rules.of.value.attraction.counters holds numbers out of range",
        ),
        (
            "of.value.spreadings.key_domain",
            np.array([0, 1, 2]),
            "rules.of.value: key_domain names more domains than its counter counts",
        ),
        (
            "of.value.soft_spreadings.key_domain",
            np.array([0, 1, 2]),
            "rules.of.value: key_domain names more domains than its counter counts",
        ),
        (
            "of.value.spreadings.counted",
            np.array([True]),
            "rules.of.value.spreadings.counted differs in length from what its counter counts",
        ),
        ("counters.settled", np.array([0]), "rules.counters.settled has the size (1,), not (4,)"),
        (
            "counters.settled.which",
            np.array([0, 7]),
            "rules.counters.settled.size or rules.counters.settled.which makes no sense",
        ),
        (
            "of.value.soft_spreadings.factor",
            np.array([1.0, 2.0]),
            "rules.of.value.soft_spreadings.factor has the size (2,), not (1,)",
        ),
        ("unsettled.value", np.array(["a", "b"]), "rules.unsettled.value has the size (2,), not (1,)"),
        ("unsettled.key.1", np.array([7]), "rules.unsettled.key.1 holds numbers out of range"),
        ("counters.domain.size", np.array([[2]]), "rules.counters.domain has the size (2,), not (3,)"),
        (
            "counters.domain",
            np.array([0, 5, -1]),
            "rules.counters.domain names more domains than rules.counters.start counts",
        ),
        ("counters.domain", np.array([0, 1, -2]), "rules.counters.domain holds numbers out of range"),
    ],
)
def test_rules_that_cannot_have_been_saved_are_refused_in_one_line(name, value, fault):
    decode_arrays(_ruled())  # as they are they can be read
    with pytest.raises(ArtefactError) as refused:
        decode_arrays(changed(_ruled(), {f"rules.{name}": value}))
    assert str(refused.value) == f"problem.npz: {fault}; save the round again"


def test_counters_that_settle_in_other_domains_than_they_count_are_refused():
    one = _counters(1)[0]
    odd = RuleSet([replace(one, settled=np.array([0], dtype=np.int64))])
    with pytest.raises(ArtefactError, match="settled differ in length"):
        decode_arrays(encode_arrays(_problem(odd), NOTHING))


def test_equal_columns_of_domains_are_saved_once():
    many = columns(encode_arrays(_problem(RuleSet(_counters(50))), NOTHING))
    assert many["rules.counters.domain"].tolist() == [0, 1, -1]
    assert many["rules.counters.domain.which"].tolist() == [0] * 50
