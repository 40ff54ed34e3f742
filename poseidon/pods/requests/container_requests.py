"""What each container of a pod asks for by itself, for models that look at containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.pods.requests.resources import amounts, declared_requests
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poseidon.kube.api.core import Container, PodSpec
    from poseidon.kube.parsing.defects import Defect
    from poseidon.pods.requests.resources import Amounts


def container_messages(spec: PodSpec, *, limits: bool) -> Iterator[pb.Container]:
    """Yield one message per container, init containers first, as they begin; with ``limits`` if wanted."""
    for container in spec.init_containers:
        sidecar = container.restart_policy == "Always"
        yield _message(container, pb.Container.SIDECAR if sidecar else pb.Container.INIT, limits=limits)
    for container in spec.containers:
        yield _message(container, pb.Container.APP, limits=limits)


def _message(container: Container, kind: pb.Container.Kind.ValueType, *, limits: bool) -> pb.Container:
    known: list[Defect] = []  # told where the pod's requests are read
    resources = container.resources
    return pb.Container(
        name=container.name,
        kind=kind,
        requests=quantities(declared_requests(resources, "", known)),
        limits=quantities(amounts(resources.limits, "", known)) if limits else (),
    )


def quantities(found: Amounts) -> list[pb.Quantity]:
    """Return amounts as the protocol has them, in order of names."""
    return [pb.Quantity(resource=name, amount=found[name]) for name in sorted(found)]
