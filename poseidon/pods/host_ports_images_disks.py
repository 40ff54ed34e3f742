"""Reads needs of a pod's containers besides resources: host ports, images and disks."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from hashlib import sha256
from ipaddress import ip_address

from poseidon.kube.api.pods import Container, ContainerPort, PodSpec
from poseidon.kube.parsing.defects import Defect
from poseidon.pod_rules.label_selectors import format_choice
from protos.firmament.v1 import scheduler_pb2 as pb

PROTOCOLS = ("TCP", "UDP", "SCTP")

_HIGHEST = 65_535
_LONGEST_DISK = 500
"""Longest name of a disk in characters; a longer name is replaced by its beginning and a digest."""
_ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 - compared with, never listened on


def list_host_ports(spec: PodSpec, defects: list[Defect]) -> list[pb.HostPort]:
    """Return the host ports that the pod uses as long as it runs, each once.

    Containers and sidecars have these ports; an ordinary init container has ended when the others start. If the pod
    uses the node's network, a container port is a host port, as the API server fills in.
    """
    found: set[tuple[int, str, str]] = set()
    # The API server compares the containers with each other, but compares every init container only with itself.
    together: set[tuple[int, str, str]] = set()
    for container, path, role in _containers(spec):
        seen = together if role is _Role.MAIN else set()
        for index, given in enumerate(container.ports):
            where = f"{path}.ports[{index}]"
            faults = _defects(given, where, host_network=spec.host_network)
            number = given.host_port or (given.container_port if spec.host_network else 0)
            protocol = given.protocol or "TCP"
            if number and not faults:
                # The API server compares host IPs as text: for it, no IP and 0.0.0.0 do not clash.
                stated = (number, protocol, given.host_ip)
                if stated in seen:
                    faults.append(Defect(f"{where}.hostPort", f"{number} is taken twice; remove one"))
                seen.add(stated)
                if role is not _Role.INIT:
                    found.add((number, protocol, _address(given)))
            defects.extend(faults)
    return [pb.HostPort(port=number, protocol=protocol, ip=ip) for number, protocol, ip in sorted(found)]


def images(spec: PodSpec) -> list[str]:
    """Return the image of each container, with its tag as nodes report it ("latest" if none is given)."""
    return sorted(image_name(each.image) for each, _, _ in _containers(spec) if each.image)


def image_name(name: str) -> str:
    """Return an image's name with its tag (kube-scheduler's ImageLocality)."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


class _Role(Enum):
    MAIN = "runs for as long as the pod does"
    SIDECAR = "starts before, and runs for as long as the pod does"
    INIT = "has ended when the rest starts"


def _containers(spec: PodSpec) -> Iterator[tuple[Container, str, _Role]]:
    """Yield each container, its path, and its role."""
    for index, container in enumerate(spec.init_containers):
        role = _Role.SIDECAR if container.restart_policy == "Always" else _Role.INIT
        yield container, f"spec.initContainers[{index}]", role
    for index, container in enumerate(spec.containers):
        yield container, f"spec.containers[{index}]", _Role.MAIN


def _address(port: ContainerPort) -> str:
    return "" if port.host_ip == _ALL_ADDRESSES else port.host_ip


def _defects(port: ContainerPort, path: str, *, host_network: bool) -> list[Defect]:
    found = []
    if not 1 <= port.container_port <= _HIGHEST:
        found.append(_range_defect(f"{path}.containerPort", port.container_port))
    if port.host_port and not 1 <= port.host_port <= _HIGHEST:
        found.append(_range_defect(f"{path}.hostPort", port.host_port))
    elif host_network and port.host_port not in (0, port.container_port):
        problem = f"{port.host_port} differs from the containerPort, which hostNetwork does not allow"
        found.append(Defect(f"{path}.hostPort", problem))
    if port.protocol and port.protocol not in PROTOCOLS:
        problem = f"unknown protocol {port.protocol!r}; use {format_choice(PROTOCOLS)}"
        found.append(Defect(f"{path}.protocol", problem))
    if port.host_ip and not _is_address(port.host_ip):
        found.append(Defect(f"{path}.hostIP", f"{port.host_ip!r} is not an IP address; correct it"))
    return found


def _range_defect(path: str, number: int) -> Defect:
    return Defect(path, f"{number} is out of range; give a port from 1 to {_HIGHEST}")


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def disks(spec: PodSpec) -> list[tuple[str, bool]]:
    """Return the disks of a pod, each once: a name that all its users share, and whether the pod only reads it."""
    return sorted({(_shorten(name), read_only) for name, read_only in _disks(spec)})


def _shorten(name: str) -> str:
    """Return a name that a solver accepts: a pod's author may write any text."""
    if len(name) <= _LONGEST_DISK:
        return name
    digest = sha256(name.encode(errors="surrogatepass")).hexdigest()
    return f"{name[: _LONGEST_DISK // 2]} {digest}"


def _disks(spec: PodSpec) -> Iterator[tuple[str, bool]]:
    for volume in spec.volumes:
        if volume.gce_persistent_disk is not None:
            yield f"gce {volume.gce_persistent_disk.pd_name}", volume.gce_persistent_disk.read_only
        elif volume.aws_elastic_block_store is not None:
            yield f"aws {volume.aws_elastic_block_store.volume_id}", False
        elif volume.iscsi is not None:
            yield f"iscsi {volume.iscsi.iqn}", volume.iscsi.read_only
        elif volume.rbd is not None:
            image = volume.rbd
            for monitor in image.monitors:
                yield f"rbd {monitor} {image.pool} {image.image}", image.read_only
