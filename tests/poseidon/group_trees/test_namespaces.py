"""Maps and pods of one name in several namespaces are several; without namespace they are in ``default``."""

from __future__ import annotations

import pytest

from poseidon.group_trees.spec.groups import GroupMaps, GroupName
from poseidon.group_trees.status.members import member_of
from poseidon.group_trees.status.written import WrittenTexts
from poseidon.kube.api.metadata import PodRef
from tests.poseidon.group_trees.objects import group_map, pod

NAMESPACES = pytest.mark.parametrize(("stated", "namespace"), [("shop", "shop"), ("", "default")])


@NAMESPACES
def test_a_map_describes_a_group_of_its_namespace_and_is_written_there(stated, namespace):
    maps, name = GroupMaps(), GroupName(namespace, "train")
    assert maps.put(group_map(namespace=stated)) == {name}
    described = maps.get(name)
    assert described is not None
    write = WrittenTexts().find_map_change(described, {"status": "Waiting"})
    assert write is not None
    assert (write.namespace, write.name) == (namespace, "train")


@NAMESPACES
def test_a_member_is_a_pod_of_its_namespace(stated, namespace):
    assert member_of("u", pod("a", namespace=stated)).ref == PodRef("u", namespace, "a")
