"""Classes of cost models that no package has installed: planned with, refused in one line, and drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from cost_models.conformance import check_model
from cost_models.interface import Assessment
from poseidon import audit, explain, plan
from poseidon.api import InputError, UseModel
from poseidon.api.models import add_models
from tests.poseidon.api.cluster import Price, PricePolicy, node, pod

NODES = [node("dear", price="90", other="1"), node("cheap", price="10", other="99")]
PODS = [pod(f"p-{number}") for number in range(4)]


def nodes_of(*models, **options) -> set[str]:
    return {each.node for each in plan(NODES, PODS, models=models, **options).bindings}


def test_a_class_is_planned_with_beside_the_policy():
    assert nodes_of() == {"dear", "cheap"}
    assert nodes_of(UseModel(Price, weight=5)) == {"cheap"}
    assert nodes_of(UseModel(Price, weight=5, args={"label": "other"})) == {"dear"}


def test_a_policy_takes_the_place_of_the_configurations():
    assert nodes_of(PricePolicy) == {"cheap"}


def test_a_configuration_may_name_the_class(tmp_path):
    config = {"costModels": [{"name": "price", "weight": 5, "args": {"label": "other"}}]}
    assert nodes_of(Price, config=config) == {"dear"}
    file = tmp_path / "config.yaml"
    header = "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"
    file.write_text(header + "costModels: [{name: price, weight: 5}]\n")
    assert nodes_of(Price, config=file) == {"cheap"}
    with pytest.raises(InputError, match="'price' is not a known model"):
        nodes_of(config=config)


def test_explain_and_audit_use_it_as_well():
    told = explain(NODES, PODS, pod="p-0", models=[Price])
    assert told.nodes["cheap"].models["price"].cost == 10
    assert audit(NODES, PODS, models=[Price]).nodes == 2


def test_one_model_needs_no_list():
    assert {each.node for each in plan(NODES, PODS, models=UseModel(Price, weight=5)).bindings} == {"cheap"}
    assert plan(NODES, PODS, models=PricePolicy).bindings == plan(NODES, PODS, models=[PricePolicy]).bindings


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda full: full, "returned ndarray; return Assessment(raw=...)"),
        (lambda _: None, "returned NoneType; return Assessment"),
        (
            lambda full: Assessment(raw=list(full)),  # type: ignore[arg-type]
            "gave list as raw; give an array of numbers",
        ),
        (lambda full: Assessment(raw=full.astype(str)), "gave an array of <U32 as raw"),
        (
            lambda full: Assessment(raw=full[0]),
            "gave raw the shape (2,); give it one row for each of 1 shapes",
        ),
        (
            lambda full: Assessment(raw=full.T),
            "gave raw the shape (2, 1); give it one row for each of 1 shapes",
        ),
        (lambda full: Assessment(raw=full * np.nan), "gave nan as raw[0, 0]; give a finite number"),
    ],
)
def test_an_answer_that_cannot_be_used_names_the_model(answer, says):
    class Mistaken(Price):
        def assess(self, machines, shapes):
            return answer(super().assess(machines, shapes).raw + np.zeros((shapes.count, machines.count)))

    with pytest.raises(InputError) as raised:
        plan(NODES, PODS, models=[Mistaken])
    [line] = raised.value.lines
    assert line.startswith(f"models: price: assess {says}")


class Unranged(Price):
    """Declares no range."""

    name = "unranged"
    range = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("models", "says"),
    [
        ([Price()], "models: <"),
        ([int], "models: <class 'int'> is not a cost model; give classes with a name and a kind"),
        ([Price, UseModel(Price, 2)], "models: price is given twice; remove one"),
        ([Unranged], "config: costModels[0].name: unranged: range must be a Range"),
        ([UseModel(Price, args={"lable": "x"})], "config: costModels[0].args: price"),
        ([UseModel(Price, weight=0)], "config: costModels[0].weight:"),
    ],
)
def test_what_is_wrong_with_a_model_is_one_line(models, says):
    with pytest.raises(InputError) as raised:
        plan(NODES, PODS, models=models)
    [line] = raised.value.lines
    assert line.startswith(says)


def test_the_network_of_a_plan_is_drawn(tmp_path):
    drawing = plan(NODES, PODS, models=[UseModel(Price, weight=5)]).draw_network("Four pods")
    drawing.save(tmp_path / "network.svg")
    root = ET.fromstring(drawing._repr_svg_())
    texts = [each.text for each in root.iter() if each.text]
    assert {"p-0: 4 tasks", "cheap", "dear", "sink"} <= set(texts)
    assert any(text.endswith("(4)") for text in texts), "all four go one way"
    assert (tmp_path / "network.svg").read_text() == drawing.svg


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(ValueError, match="no round had anything to place"):
        plan(NODES).draw_network()
    many = [node(f"n-{number}") for number in range(31)]
    with pytest.raises(ValueError, match="1 kinds of tasks and 31 machines is too large"):
        plan(many, pod("one")).draw_network()


def test_a_class_that_is_not_installed_can_be_checked():
    check_model(Price(), registered=False)
    with pytest.raises(AssertionError, match="no entry point is called 'price'"):
        check_model(Price())


def test_models_are_added_unless_the_configuration_names_them():
    """A policy takes the place of the stated one; what only a profile names is used as stated there."""
    given = {"policy": {"name": "random"}, "costModels": [{"name": "other"}], "profiles": None}
    added = add_models(given, {"price": UseModel(Price, weight=5, args={"label": "x"})})
    price = {"name": "price", "weight": 5, "args": {"label": "x"}}
    assert added == {**given, "costModels": [{"name": "other"}, price]}
    assert given["costModels"] == [{"name": "other"}]
    replaced = add_models(given, {PricePolicy.name: UseModel(PricePolicy)})
    assert replaced["policy"]["name"] == PricePolicy.name
    assert replaced["costModels"] == [{"name": "other"}]
    profiled = {"profiles": ["odd", {"costModels": ["odd", {"name": "price"}]}]}
    assert add_models(profiled, {"price": UseModel(Price)}) == profiled
    chosen = {"profiles": [{"policy": {"name": PricePolicy.name}}]}
    assert add_models(chosen, {PricePolicy.name: UseModel(PricePolicy)}) == chosen
    assert add_models({}, {}) == {}
