"""The value by which models say what they look at: merged, as words, and as much as the bridge tells them today."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields, replace
from typing import Any

import pytest

from cost_models.interface import ModelDeclarationError, Needs
from cost_models.registry import list_available, load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from poseidon.pods.visibility import WHEN_UNTOLD, not_understood, visible_to
from tests.support.models import NEEDS, Stated, indifferent

_EVERY: dict[str, Any] = {
    each.name: True if each.default is False else (each.name,) for each in fields(Needs)
}
EVERYTHING = Needs(**_EVERY)


def test_needs_of_several_models_are_merged():
    one = Needs(labels=("b", "a"), load=True, records=("k",))
    other = Needs(labels=("b", "c"), namespaces=True, records=("k",), arrivals=("k",))
    merged = Needs(labels=("a", "b", "c"), namespaces=True, load=True, records=("k",), arrivals=("k",))
    assert Needs.merge([one, other]) == Needs.merge(iter([other, one])) == merged
    assert Needs.merge([]) == Needs()
    assert Needs.merge([EVERYTHING, Needs()]) == EVERYTHING


def test_a_configuration_needs_what_its_models_need():
    overlays = (WeightedModel(Stated(indifferent)), WeightedModel(load_model("whare_map", {})))
    needs = CoreConfiguration(overlays=overlays).needs
    of_rules = CoreConfiguration().rules.needs
    of_models = [each.model.needs for each in overlays]
    assert needs == Needs.merge([NEEDS, *of_models, of_rules, Needs(unseen=True)])
    assert replace(CoreConfiguration(), overlays=overlays).needs == needs


def test_needs_are_plain_words():
    needs = Needs(labels=("app", "tier"), load=True, kind_labels=("group",), records=("Kind",))
    assert needs.words() == [
        "kind_labels:group", "labels:app", "labels:tier", "load", "records:Kind", "timings",
    ]  # fmt: skip
    assert Needs().words() == []
    assert {word.partition(":")[0] for word in EVERYTHING.words()} == {
        each.name for each in fields(Needs)
    } | {"timings"}


@pytest.mark.parametrize(
    "needs", [Needs(load=True), Needs(unseen=True), Needs(records=("k",), arrivals=("k",))]
)
def test_who_looks_at_single_tasks_is_told_when_they_came(needs: Needs):
    assert "timings" in needs.words()
    assert "timings" not in Needs(residents=True, records=("k",)).words()


def test_needs_are_values():
    assert copy.deepcopy(EVERYTHING) == pickle.loads(pickle.dumps(EVERYTHING)) == EVERYTHING
    assert len({Needs(load=True), Needs(load=True), Needs()}) == 2
    with pytest.raises(ModelDeclarationError, match=r"Needs\.labels is \['app'\]"):
        replace(EVERYTHING, labels=["app"])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", list_available())
def test_what_a_model_needs_is_what_the_bridge_shows(name: str):
    needs = load_model(name, {}).needs
    shown = visible_to(needs.words())
    assert shown.labels == {*needs.labels, *needs.kind_labels}
    assert shown.annotations == set(needs.annotations)
    assert shown.node_annotations == set(needs.machine_annotations)
    assert shown.records == set(needs.records)
    for flag in ("programs", "containers", "namespaces", "limits", "service_classes", "daemons"):
        assert getattr(shown, flag) is getattr(needs, flag)
    assert shown.qualities is needs.qos
    assert shown.timed is ("timings" in needs.words())


def test_all_words_are_understood():
    assert not_understood(EVERYTHING.words()) == []
    assert not_understood([*EVERYTHING.words(), "weather", "stars:north"]) == ["stars:north", "weather"]


def test_a_solver_that_does_not_say_gets_what_any_known_model_needs():
    needs = Needs.merge(load_model(name, {}).needs for name in list_available())
    shown, untold = (
        visible_to(needs.words()),
        visible_to({*WHEN_UNTOLD, *(f"records:{each}" for each in needs.records)}),
    )
    assert untold == replace(shown, namespaces=True)
    assert not_understood(WHEN_UNTOLD) == []
