"""The value by which models say what they look at: merged, as words, and as much as the bridge tells them today."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields, replace
from typing import Any

import pytest

from cost_models.interface import ModelDeclarationError, Needs
from cost_models.registry import available, load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from poseidon.pods.requests.estimates import NODE_ANNOTATIONS, POD_ANNOTATIONS
from poseidon.pods.visibility import (
    APP_GROUP_LABEL,
    MODEL_LABELS,
    WORKLOAD_LABEL,
    Visibility,
    visible_to,
)
from tests.support.models import NEEDS, Stated, indifferent

_EVERY: dict[str, Any] = {
    each.name: True if each.default is False else (each.name,) for each in fields(Needs)
}
EVERYTHING = Needs(**_EVERY)


def test_needs_of_several_models_are_merged():
    one = Needs(labels=("b", "a"), load=True, records=("k",))
    other = Needs(labels=("b", "c"), namespaces=True, records=("k",), arrivals=("k",))
    merged = Needs(labels=("a", "b", "c"), namespaces=True, load=True, records=("k",), arrivals=("k",))
    assert Needs.merged([one, other]) == Needs.merged(iter([other, one])) == merged
    assert Needs.merged([]) == Needs()
    assert Needs.merged([EVERYTHING, Needs()]) == EVERYTHING


def test_a_configuration_needs_what_its_models_need():
    overlays = (WeightedModel(Stated(indifferent)), WeightedModel(load_model("whare_map", {})))
    needs = CoreConfiguration(overlays=overlays).needs
    assert needs == Needs.merged([NEEDS, *(each.model.needs for each in overlays), Needs(unseen=True)])
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


def shown_by_name(name: str) -> Visibility:
    """What the bridge shows to a model, which it knows by name."""
    return visible_to(name) if available()[name] == "policy" else visible_to("trivial", [name])


@pytest.mark.parametrize("name", available())
def test_what_the_bridge_knows_of_a_model_by_its_name_follows_from_its_needs(name: str):
    words, shown = load_model(name, {}).needs.words(), shown_by_name(name)
    entries = {kind: {word.partition(":")[2] for word in words if word.startswith(f"{kind}:")} for kind in (
        "labels", "kind_labels", "annotations", "machine_annotations", "records",
    )}  # fmt: skip
    assert entries["labels"] | entries["kind_labels"] <= shown.labels
    assert {APP_GROUP_LABEL, WORKLOAD_LABEL} & shown.labels == entries["kind_labels"]
    assert shown.labels - MODEL_LABELS <= entries["labels"] | entries["kind_labels"]
    assert entries["annotations"] == shown.annotations
    assert entries["machine_annotations"] == shown.node_annotations
    assert ("NodeResourceTopology" in entries["records"]) is shown.topologies
    assert (
        ("AppGroup" in entries["records"]) is ("NetworkTopology" in entries["records"]) is shown.applications
    )
    for word in ("programs", "containers", "namespaces"):
        assert (word in words) is getattr(shown, word)
    assert ("timings" in words) is shown.timed
    assert {word for word in ("limits", "service_classes", "daemons") if word in words} == (
        {"limits", "service_classes", "daemons"} if shown.estimates else set()
    )
    # The class of quality goes along with containers, whether or not it is looked at.
    assert shown.qualities <= ("qos" in words) <= (shown.qualities or shown.containers)


def test_what_the_bridge_shows_by_name_is_all_needed_by_somebody():
    needs = Needs.merged(load_model(name, {}).needs for name in available())
    assert set(needs.labels) >= MODEL_LABELS
    assert set(needs.annotations) == POD_ANNOTATIONS
    assert set(needs.machine_annotations) == NODE_ANNOTATIONS
