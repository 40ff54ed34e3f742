"""Ports of the node, images, and device claims."""

from __future__ import annotations

import pytest

from poseidon.nodes.machines import machine
from poseidon.pods.host_ports_images_disks import disks, image_name
from tests.poseidon.pods.builders import make_node, make_pod
from tests.support.task_classes import class_content


def ports(**spec):
    message, defects = class_content(make_pod(**spec))
    assert not defects
    return [(each.port, each.protocol, each.ip) for each in message.ports]


def with_ports(*given, **more):
    return {"name": "c", "ports": list(given), **more}


HTTP = {"containerPort": 80, "hostPort": 8080}


class TestPorts:
    def test_of_containers_and_sidecars_count(self):
        assert ports(
            containers=[
                with_ports(HTTP, {"containerPort": 1}),
                with_ports({"containerPort": 53, "hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}),
            ],
            initContainers=[
                with_ports({"containerPort": 5, "hostPort": 5}),
                with_ports({"containerPort": 6, "hostPort": 6, "hostIP": "0.0.0.0"}, restartPolicy="Always"),
            ],
        ) == [(6, "TCP", ""), (53, "UDP", "10.0.0.1"), (8080, "TCP", "")]

    def test_on_the_nodes_network_container_ports_are_the_nodes(self):
        given = {"containerPort": 80}
        assert ports(containers=[with_ports(given)], hostNetwork=True) == [(80, "TCP", "")]
        assert ports(containers=[with_ports({**given, "hostPort": 80})], hostNetwork=True) == [
            (80, "TCP", "")
        ]

    @pytest.mark.parametrize("number", [1, 65535])
    def test_the_first_port_and_the_last_are_ports(self, number):
        assert ports(containers=[with_ports({"containerPort": number, "hostPort": number})]) == [
            (number, "TCP", "")
        ]

    def test_one_number_may_serve_several_protocols_and_addresses(self):
        given = [HTTP, {**HTTP, "protocol": "UDP"}, {**HTTP, "hostIP": "10.0.0.1"}]
        assert len(ports(containers=[with_ports(*given)])) == 3

    def test_no_address_and_all_addresses_may_stand_side_by_side(self):
        # The API server compares addresses as text.
        given = [HTTP, {**HTTP, "hostIP": "0.0.0.0"}]
        assert ports(containers=[with_ports(*given)]) == [(8080, "TCP", "")]

    def test_a_sidecar_may_take_the_port_of_a_container(self):
        sidecar = with_ports(HTTP, restartPolicy="Always")
        assert ports(containers=[with_ports(HTTP)], initContainers=[sidecar]) == [(8080, "TCP", "")]

    @pytest.mark.parametrize(
        ("given", "field", "words"),
        [
            ({"containerPort": 80, "hostPort": 70000}, "hostPort", "70000 is out of range"),
            ({"containerPort": 80, "hostPort": -1}, "hostPort", "-1 is out of range"),
            ({"containerPort": 70000}, "containerPort", "70000 is out of range"),
            ({"hostPort": 80}, "containerPort", "0 is out of range"),
            ({**HTTP, "protocol": "ICMP"}, "protocol", "unknown protocol 'ICMP'; use TCP, UDP or SCTP"),
            ({**HTTP, "hostIP": "here"}, "hostIP", "'here' is not an IP address"),
        ],
    )
    def test_defects_name_the_field(self, given, field, words):
        message, defects = class_content(make_pod(containers=[with_ports(given)]))
        assert [each.field for each in defects] == [f"spec.containers[0].ports[0].{field}"]
        assert words in defects[0].problem
        assert message.invalid
        assert not message.ports

    def test_a_port_taken_twice_is_a_defect(self):
        _, defects = class_content(make_pod(containers=[with_ports(HTTP), with_ports(HTTP)]))
        assert [each.field for each in defects] == ["spec.containers[1].ports[0].hostPort"]

    def test_on_the_nodes_network_both_ports_are_the_same(self):
        _, defects = class_content(make_pod(containers=[with_ports(HTTP)], hostNetwork=True))
        assert [each.field for each in defects] == ["spec.containers[0].ports[0].hostPort"]

    def test_a_pod_with_another_defect_still_takes_its_ports(self):
        pod = make_pod(containers=[with_ports(HTTP)], tolerations=[{"effect": "?", "operator": "Exists"}])
        message, defects = class_content(pod)
        assert defects
        assert [each.port for each in message.ports] == [8080]


class TestImages:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ("nginx", "nginx:latest"),
            ("nginx:1.2", "nginx:1.2"),
            ("r.example:5000/a/b", "r.example:5000/a/b:latest"),
            ("r.example:5000/a/b:2", "r.example:5000/a/b:2"),
            ("a@sha256:0", "a@sha256:0"),
        ],
    )
    def test_are_named_as_nodes_name_them(self, given, expected):
        assert image_name(given) == expected

    def test_every_container_names_its_own(self):
        pod = make_pod(containers=[{"image": "b"}, {"image": "a"}, {"image": "b"}, {}])
        assert list(class_content(pod)[0].images) == ["a:latest", "b:latest", "b:latest"]

    def test_nodes_tell_what_they_have(self):
        status = {
            "allocatable": {"cpu": "1"},
            "images": [{"names": ["b:1", "a@sha256:0"], "sizeBytes": 7}, {"sizeBytes": 9}],
        }
        message, _ = machine(make_node(status=status))
        assert [(list(each.names), each.size) for each in message.images] == [(["a@sha256:0", "b:1"], 7)]


def test_a_disk_whose_name_is_too_long_for_a_solver_is_still_told_from_others():
    def name_of(text):
        message, defects = class_content(make_pod(volumes=[{"name": "v", "iscsi": {"iqn": text}}]))
        assert not defects
        return message.disks[0].name

    one, other = name_of("x" * 5_000), name_of("x" * 5_000 + "y")
    assert one == name_of("x" * 5_000) != other
    assert one.startswith("iscsi xxx")
    assert len(one) <= 1_024
    assert name_of("short") == "iscsi short"


@pytest.mark.parametrize(
    ("volume", "found"),
    [
        ({"gcePersistentDisk": {"pdName": "d"}}, [("gce d", False)]),
        ({"gcePersistentDisk": {"pdName": "d", "readOnly": True}}, [("gce d", True)]),
        ({"awsElasticBlockStore": {"volumeID": "v"}}, [("aws v", False)]),
        ({"iscsi": {"iqn": "i"}}, [("iscsi i", False)]),
        ({"iscsi": {"iqn": "i", "readOnly": True}}, [("iscsi i", True)]),
        (
            {"rbd": {"monitors": ["m2", "m1"], "image": "x"}},
            [("rbd m1 rbd x", False), ("rbd m2 rbd x", False)],
        ),
        ({"rbd": {"monitors": ["m"], "pool": "p", "image": "x", "readOnly": True}}, [("rbd m p x", True)]),
        ({"iscsi": {"iqn": "x" * 494}}, [("iscsi " + "x" * 494, False)]),
        ({"emptyDir": {}}, []),
    ],
)
def test_a_disk_has_one_name_for_all_its_users(volume, found):
    volumes = [{"name": "v", **volume}, {"name": "w", **volume}]
    assert disks(make_pod(volumes=volumes).spec) == found


def test_device_claims_are_added_once_they_are_known():
    claims = [{"name": "gpu", "resourceClaimName": "x"}]
    assert class_content(make_pod(resourceClaims=claims)) == class_content(make_pod())
