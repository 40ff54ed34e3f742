"""The model keeps the rules of the interface, and charges what it says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from node_price import REASON, NodePrice

from cost_models.checks.sample_inputs import ordinary_machines, ordinary_shapes
from cost_models.conformance import check_model
from cost_models.interface import ModelArgumentError


@pytest.mark.parametrize("arguments", [{}, {"limit": 0.5}, {"label": "price", "dearest": 20}])
def test_it_conforms(arguments):
    """It passes the checks that every model has to pass."""
    check_model(NodePrice(**arguments))


def test_prices_become_points():
    """Prices are mapped to 0..100 points; what is no price is the worst."""
    model = NodePrice(dearest=2.0, limit=1.5)
    prices = ["0", "0.5", "2", "17", "-1", "nan"]
    machines = replace(ordinary_machines(), labels=[{"example.com/price": each} for each in prices])
    answer = model.assess(machines, ordinary_shapes())
    np.testing.assert_array_equal(model.range.points(answer.raw)[0], [0, 25, 100, 100, 0, 100])
    np.testing.assert_array_equal(answer.feasible[0], [True, True, False, False, True, False])
    assert answer.reason == REASON


@pytest.mark.parametrize("arguments", [{"dearest": 0}, {"limit": "1"}, {"label": ""}, {"dearest": True}])
def test_bad_arguments_are_refused(arguments):
    """A bad argument is named."""
    [name] = arguments
    with pytest.raises(ModelArgumentError, match=f"^{name} is "):
        NodePrice(**arguments)
