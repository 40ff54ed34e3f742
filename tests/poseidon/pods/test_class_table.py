"""The table of classes: when images and labels begin to tell pods apart, and when classes are forgotten."""

from __future__ import annotations

from typing import Any, cast

import pytest
from msgspec.structs import replace

from poseidon.kube.api.pods import Pod
from poseidon.pods.class_keys import ClassKey
from poseidon.pods.classes import LEAST_SURPLUS, ClassNumbers, ClassTable
from poseidon.pods.visibility import Visibility
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.pods.builders import make_pod


def with_images(*images: str) -> Pod:
    return make_pod(containers=[{"name": f"c{at}", "image": each} for at, each in enumerate(images)])


def labelled(pod: Pod, namespace: str = "shop", **labels: str) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, namespace=namespace, labels=labels))


def select(**labels: str) -> pb.TaskSelector:
    wanted = [pb.Requirement(key=key, operator="In", values=[value]) for key, value in labels.items()]
    return pb.TaskSelector(labels=wanted, namespaces=["shop"])


def test_images_tell_pods_apart_once_they_are_heavy():
    table = ClassTable()
    light, heavy = table.traits(with_images("a")), table.traits(with_images("b:1"))
    assert light.task_class == heavy.task_class
    assert (table.names_images, table.take_images()) == (True, {"a:latest", "b:1"})
    assert (table.names_images, table.take_images()) == (False, set())
    assert not table.may_have_moved
    table.weigh_images({"b:1": 1})
    assert (table.may_have_moved, table.refresh(), table.may_have_moved) == (True, True, False)
    assert light.task_class != heavy.task_class
    assert list(table.message(heavy.task_class).images) == ["b:1"]
    assert not table.message(light.task_class).images
    later = table.traits(with_images("b:1"))
    assert later.task_class == heavy.task_class
    table.weigh_images({"b:1": 1})
    assert not table.refresh(), "it is heavy already"


def test_an_image_that_is_heavy_only_together_counts_for_pods_of_so_many_containers():
    table = ClassTable()
    one, two = table.traits(with_images("a")), table.traits(with_images("a", "b"))
    plain = one.task_class, two.task_class
    table.weigh_images({"a:latest": 2, "unknown": 1})
    assert table.refresh()
    assert one.task_class == plain[0]
    assert two.task_class != plain[1]
    assert list(table.message(two.task_class).images) == ["a:latest", "b:latest"]
    three = table.traits(with_images("a", "c", "d"))
    assert len(table.message(three.task_class).images) == 3
    table.weigh_images({"a:latest": 1})
    assert table.refresh()
    assert one.task_class != plain[0]


def test_a_selector_of_something_else_tells_pods_apart_from_the_next_look_on():
    table = ClassTable()
    one, two = (table.traits(labelled(make_pod(), app=app, tier="x")) for app in "ab")
    other = table.traits(labelled(make_pod(), "zoo", app="b"))
    assert one.task_class == two.task_class == other.task_class
    table.watch(select(app="a"))
    assert table.refresh()
    assert not table.refresh()
    assert len({one.task_class, two.task_class, other.task_class}) == 3
    assert dict(table.message(one.task_class).labels) == {"app": "a"}
    assert not table.message(other.task_class).labels


def test_a_pod_without_a_namespace_is_in_the_default_one():
    table = ClassTable(Visibility(namespaces=True))
    first, second = (table.traits(make_pod(namespace=namespace)) for namespace in ("", "default"))
    assert first is second
    assert table.message(first.task_class).namespace == "default"


def test_what_is_selected_from_elsewhere_still_counts_after_classes_were_forgotten():
    table = ClassTable()
    table.watch(select(app="a"))
    table.refresh()
    kept = [table.traits(labelled(make_pod(), app=app)) for app in "ab"]
    gone = [table.traits(with_rules(number)) for number in range(LEAST_SURPLUS)]
    assert table.has_surplus
    numbers = {each.task_class for each in gone}
    gone.clear()
    assert set(table.forget_unused()) == numbers
    assert (table.has_surplus, table.forget_unused()) == (False, [])
    table.refresh()
    assert kept[0].task_class != kept[1].task_class
    assert dict(table.message(kept[1].task_class).labels) == {"app": "b"}
    assert table.traits(labelled(make_pod(), app="c")).task_class not in numbers


def with_rules(number: int) -> Pod:
    """A pod that spreads among pods of a label of its own."""
    rule: dict[str, Any] = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {f"own-{number}": "x"}},
    }
    return labelled(make_pod(topologySpreadConstraints=[rule]), **{f"own-{number}": "x"})


def test_an_image_that_no_pod_names_any_more_is_weighed_anew():
    table = ClassTable()
    heavy = [table.traits(with_images("a"))]
    table.weigh_images({"a:latest": 1})
    table.refresh()
    filling = [table.traits(make_pod(nodeSelector={"n": str(number)})) for number in range(LEAST_SURPLUS)]
    heavy.clear()
    assert len(table.forget_unused()) == 2, "the class with and that without the image"
    assert table.images() == set()
    assert len(filling) == len(table)
    again = table.traits(with_images("a"))
    assert table.take_images() == {"a:latest"}
    assert not table.message(again.task_class).images


@pytest.mark.parametrize(
    ("kept", "more"), [(0, LEAST_SURPLUS), (1000, LEAST_SURPLUS), (2000, 500), (1 << 12, 1 << 10)]
)
def test_it_is_worth_looking_once_a_fourth_of_the_classes_is_new(kept, more):
    numbers = ClassNumbers()
    for key in range(kept):
        numbers.number(cast(ClassKey, key))
    assert numbers.keep_only(range(1, kept + 1)) == []
    for key in range(more - 1):
        numbers.number(cast(ClassKey, kept + key))
        assert not numbers.has_surplus
    assert numbers.number(cast(ClassKey, "last")) == kept + more
    assert numbers.has_surplus
    assert numbers.keep_only({1}) == [number for number in range(1, kept + more + 1) if number != 1]
    assert numbers.number(cast(ClassKey, "last")) == kept + more + 1, "no number is used again"
