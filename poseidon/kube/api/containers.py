"""Containers of a pod: what they ask for, and how far they have come."""

from __future__ import annotations

from msgspec import field

from poseidon.kube.api.base import Integer, KubeStruct, Resources


class ResourceRequirements(KubeStruct, frozen=True):
    """Requests and limits of a container or of a whole pod."""

    requests: Resources = field(default_factory=dict)
    limits: Resources = field(default_factory=dict)


class ContainerPort(KubeStruct, frozen=True):
    """A port of a container; ``host_port`` 0 means that it takes none of the node's. "" stands for TCP."""

    container_port: Integer = 0
    host_port: Integer = 0
    protocol: str = ""
    host_ip: str = field(default="", name="hostIP")


class RestartRule(KubeStruct, frozen=True):
    """What happens if a container ends in a certain way."""

    action: str = ""


class Container(KubeStruct, frozen=True):
    """A container as a scheduler sees it. An init container with ``restart_policy`` "Always" is a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str = ""
    restart_policy_rules: tuple[RestartRule, ...] = ()
    ports: tuple[ContainerPort, ...] = ()


class Terminated(KubeStruct, frozen=True):
    """How a container ended. Times are RFC 3339 text as sent."""

    started_at: str | None = None
    finished_at: str | None = None


class Running(KubeStruct, frozen=True):
    """Since when a container has been running."""

    started_at: str | None = None


class ContainerState(KubeStruct, frozen=True):
    """What a container does at present; neither while it waits to be started."""

    terminated: Terminated | None = None
    running: Running | None = None


class ContainerStatus(KubeStruct, frozen=True):
    """How far a container has come.

    ``resources`` is what it runs with, None where the kubelet does not say; ``allocated_resources`` are the requests
    that its kubelet has granted.
    """

    name: str = ""
    state: ContainerState = ContainerState()
    restart_count: Integer = 0
    resources: ResourceRequirements | None = None
    allocated_resources: Resources = field(default_factory=dict)
