"""What dependencies between kinds of tasks say of pairs of domains, and what saved models are read by."""

from __future__ import annotations

import numpy as np
import pytest

from cost_models.checks.sample_inputs import StatedWindows
from cost_models.numa.numa_fit import NumaFit
from cost_models.pairs import PairTerms, knows_pairs
from cost_models.registry import UnknownModelError, load_model, reader_of


def terms(rating: list[list[float]]) -> PairTerms:
    """Terms of one pair of two kinds, with this rating of pairs of domains."""
    domains = len(rating)
    one = np.zeros(1, dtype=np.int64)
    return PairTerms(
        domain=np.arange(domains),
        cost=np.zeros((domains, domains)),
        rating=np.array(rating),
        group=np.zeros(2, dtype=np.int64),
        stage=np.arange(2),
        source=one,
        target=one + 1,
        limit=np.ones(1),
        amount=one,
        link=np.full((domains, domains), -1),
        link_limit=one[:0],
    )


def test_kinds_and_domains_are_counted():
    made = terms([[0.0] * 3] * 3)
    assert (made.kinds, made.domains) == (2, 3)


def test_a_rating_at_the_limit_keeps_it_and_an_unknown_one_neither_keeps_nor_exceeds_it():
    made = terms([[4.0, 5.0], [5.5, float("nan")]])
    assert made.find_keeping(5.0).tolist() == [[True, True], [False, False]]
    assert made.find_exceeding(5.0).tolist() == [[False, False], [True, False]]


@pytest.mark.parametrize(("name", "expected"), [("network_overhead", True), ("cpu_mem", False)])
def test_only_models_that_promise_it_charge_for_pairs(name: str, expected: bool):
    assert knows_pairs(load_model(name, {})) is expected


def test_a_model_s_saved_ledgers_are_read_by_its_own_method():
    assert reader_of(NumaFit.name, "restore_ledger") is NumaFit.restore_ledger


@pytest.mark.parametrize(
    ("name", "method", "message"),
    [
        ("cpu_mem", "restore_ledger", "the cost model 'cpu_mem' that is installed has no restore_ledger"),
        (NumaFit.name, "name", f"the cost model {NumaFit.name!r} that is installed has no name"),
        ("unheard_of", "restore_ledger", "no cost model 'unheard_of' is installed; known: "),
    ],
)
def test_a_model_without_such_a_method_is_named(name: str, method: str, message: str):
    with pytest.raises(UnknownModelError) as refused:
        reader_of(name, method)
    assert str(refused.value.args[0]).startswith(message)


@pytest.mark.parametrize(
    ("kind", "seconds", "known"),
    [
        ("avg", 300.0, True),
        ("avg", 0.0, True),
        ("p95", 300.0, True),
        ("avg", 60.0, False),
        ("max", 0.0, False),
    ],
)
def test_stated_statistics_are_those_of_their_kinds_and_period(kind: str, seconds: float, known: bool):
    stated = np.array([[1.0, 2.0]])
    windows = StatedWindows(("avg", "p95"), 300.0, stated)
    found = windows.usage(kind, seconds)
    assert np.isnan(found).all() != known
    assert found.shape == stated.shape
    if known:
        found[0, 0] = 9.0
        assert stated.tolist() == [[1.0, 2.0]], "it is a copy"
