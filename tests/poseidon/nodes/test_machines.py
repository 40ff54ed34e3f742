"""Machines by name: what a stream is told of them, and what they offer beside their nodes' reports."""

from __future__ import annotations

from poseidon.nodes.machines import Machines, is_ready, machine
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.pods.builders import make_node


def described(name: str = "n1", cpu: int = 4000, **more) -> pb.Machine:
    offered = {"cpu": cpu, **more}
    return pb.Machine(
        name=name,
        labels={"zone": "a"},
        allocatable=[pb.Quantity(resource=key, amount=offered[key]) for key in sorted(offered)],
        images=[pb.Image(names=["small"], size=1)],
    )


def offered(found: pb.Machine) -> dict[str, int]:
    return {each.resource: each.amount for each in found.allocatable}


def test_machines_are_told_once_and_again_when_they_change():
    machines = Machines()
    before = machines.changed
    assert machines.put("1", described())
    assert (before, machines.changed) == (False, True)
    assert [each.name for each in machines.take_changed()] == ["n1"]
    assert not machines.put("1", described())
    assert machines.take_changed() == []
    assert not machines.put("1", described(cpu=5000))
    assert [offered(each)["cpu"] for each in machines.take_changed()] == [5000]
    assert ("n1" in machines, "n2" in machines, len(machines)) == (True, False, 1)
    found = machines.get("n1")
    assert found is not None
    assert offered(found)["cpu"] == 5000
    machines.forget_sent()
    assert [each.name for each in machines.take_changed()] == ["n1"]


def test_a_machine_that_is_gone_is_told_once_and_may_return():
    machines = Machines()
    machines.put("1", described())
    machines.take_changed()
    assert machines.remove("unknown") == ""
    assert machines.remove("1") == "n1"
    assert not machines.has_returned("n1")
    assert machines.take_removed() == ["n1"]
    assert machines.take_removed() == []
    assert machines.has_returned("n1")
    assert machines.put("2", described())
    assert [each.name for each in machines.take_changed()] == ["n1"]
    machines.forget_sent()
    assert not machines.has_returned("n1")


def test_the_late_end_of_a_node_spares_its_namesake():
    machines = Machines()
    machines.put("1", described())
    assert not machines.put("2", described())
    assert machines.remove("1") == ""
    assert "n1" in machines
    assert machines.remove("2") == "n1"


def test_amounts_are_summed_and_found_over_all_machines():
    machines = Machines()
    machines.put("1", described("n1", gpu=2))
    machines.put("2", described("n2", cpu=1000, gpu=0))
    machines.put("3", described("n3", gpu=1))
    assert (machines.total("cpu"), machines.total("gpu"), machines.total("x")) == (9000, 3, 0)
    assert sorted(machines.list_offering("gpu")) == ["n1", "n3"]
    assert machines.list_offering("x") == []


def test_what_is_offered_besides_is_added_and_taken_back():
    machines = Machines()
    machines.offer("n1", {"gpu": 2}, ["pv"], [pb.StorageRoom(storage_class="fast")])
    reported = described(gpu=1)
    machines.put("1", reported)
    found = machines.get("n1")
    assert found is not None
    assert offered(found) == {"cpu": 4000, "gpu": 2}
    assert [each.resource for each in found.allocatable] == ["cpu", "gpu"]
    assert (list(found.attached), [each.storage_class for each in found.storage]) == (["pv"], ["fast"])
    assert offered(reported) == {"cpu": 4000, "gpu": 1}, "the node's report stays as it is"
    for more in ({"attached": ["pv"]}, {"rooms": [pb.StorageRoom(storage_class="fast")]}):
        machines.offer("n1", {}, **more)
        found = machines.get("n1")
        assert found is not None
        assert (list(found.attached), len(found.storage)) == (
            more.get("attached", []),
            len(more.get("rooms", [])),
        )
        assert offered(found)["gpu"] == 1
    machines.offer("n1", {"b": 1, "a": 1, "d": 1})
    found = machines.get("n1")
    assert found is not None
    assert [each.resource for each in found.allocatable] == ["a", "b", "cpu", "d", "gpu"]
    machines.offer("n1", {})
    assert machines.get("n1") == reported
    machines.offer("elsewhere", {})


def test_labels_besides_are_added_and_taken_back():
    machines = Machines()
    machines.put("1", described())
    machines.take_changed()
    machines.add_labels("n1", {"tier": "leaf"})
    [found] = machines.take_changed()
    assert dict(found.labels) == {"zone": "a", "tier": "leaf"}
    machines.add_labels("n1", {})
    [found] = machines.take_changed()
    assert dict(found.labels) == {"zone": "a"}
    machines.add_labels("n2", {"tier": "leaf"})
    machines.put("2", described("n2"))
    [found] = machines.take_changed()
    assert found.labels["tier"] == "leaf"


def test_additions_go_with_their_machine():
    machines = Machines()
    machines.put("1", described())
    machines.offer("n1", {"gpu": 2})
    machines.add_labels("n1", {"tier": "leaf"})
    machines.remove("1")
    machines.put("2", described())
    assert machines.get("n1") == described()


def test_images_that_matter_take_the_place_of_those_reported():
    machines = Machines()
    machines.put("1", described())
    machines.show_images("n1", [pb.Image(names=["big"], size=9)])
    found = machines.get("n1")
    assert found is not None
    assert [(*each.names, each.size) for each in found.images] == [("big", 9)]
    assert offered(found)["cpu"] == 4000


def test_what_the_hardware_has_is_said_where_it_differs():
    status = {"allocatable": {"cpu": 3, "memory": "1Gi"}, "capacity": {"cpu": 4, "memory": "1Gi", "gpu": 2}}
    message, defects = machine(make_node(status=status))
    assert [(each.resource, each.amount) for each in message.total] == [("cpu", 4000), ("gpu", 2)]
    assert not defects


def test_images_have_sorted_names_and_sizes_within_bounds():
    images = [
        {"names": ["b", "a", "a"], "sizeBytes": 5},
        {"names": [], "sizeBytes": 7},
        {"names": ["c"], "sizeBytes": -3},
        {"names": ["d"], "sizeBytes": 2**62},
    ]
    message, _ = machine(make_node(status={"allocatable": {"cpu": 1}, "images": images}))
    assert [list(each.names) for each in message.images] == [["a", "b"], ["c"], ["d"]]
    sizes = [each.size for each in message.images]
    assert sizes[:2] == [5, 0]
    assert sizes[2] < 2**62


def test_every_condition_ready_has_to_be_true():
    def ready(*statuses: str) -> bool:
        conditions = [{"type": "Ready", "status": each} for each in statuses]
        return is_ready(make_node(status={"allocatable": {"cpu": 1}, "conditions": conditions}))

    assert ready()
    assert ready("True", "True")
    assert not ready("True", "False")


def test_a_node_without_a_name_is_a_defect():
    _, defects = machine(make_node(""))
    assert [(each.field, each.problem) for each in defects][:1] == [
        ("metadata.name", "missing; give the node a name")
    ]
