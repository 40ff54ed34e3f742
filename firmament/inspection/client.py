"""Makes the unary calls of the protocol, and turns their errors into messages for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import grpc

from protos.conventions.tls import TlsFiles
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc

Reply = TypeVar("Reply")

_CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", -1),  # The state of a large cluster has hundreds of megabytes.
    ("grpc.enable_http_proxy", 0),
)


class QuestionError(Exception):
    """The solver gave no answer to a question; the text of the error says in one line why, and what to do."""


class SolverClient:
    """Asks the solver at ``target`` about clusters; each answer must come within ``seconds``.

    Every method raises ``QuestionError``.
    """

    def __init__(self, channel: grpc.Channel, target: str, seconds: float) -> None:
        self._stub = scheduler_pb2_grpc.SchedulerStub(channel)
        self._target = target
        self._seconds = seconds

    def clusters(self) -> dict[str, bool]:
        """Return, by name of each cluster that the solver knows, whether a driver is connected to it."""
        known = self._ask(self._stub.ListState, pb.ListStateRequest())
        live = set(known.live_clusters)
        return {name: name in live for name in known.clusters}

    def cluster_named(self, name: str | None) -> str:
        """Return ``name``; if it is None, return the only cluster, or else the only one with a connected driver."""
        if name is not None:
            return name
        known = self.clusters()
        live = [each for each, driven in known.items() if driven]
        for choice in (list(known), live):
            if len(choice) == 1:
                return choice[0]
        if not known:
            raise QuestionError(f"{self._target}: the solver knows no cluster yet; connect a driver first")
        names = ", ".join(f"{each!r} ({liveness(driven)})" for each, driven in known.items())
        raise QuestionError(
            f"{self._target}: the solver knows several clusters; name one with --cluster: {names}"
        )

    def delete_cluster(self, name: str) -> None:
        """Make the solver forget a cluster whose sessions have ended."""
        self._ask(self._stub.DeleteCluster, pb.DeleteClusterRequest(cluster=name))

    def state(self, cluster: str, *, lists: bool = True) -> pb.ListStateResponse:
        """Return the numbers of a cluster's objects and, if ``lists``, its tasks and machines."""
        return self._ask(self._stub.ListState, pb.ListStateRequest(cluster=cluster, with_tasks=lists))

    def uid_of(self, cluster: str, task: str) -> str:
        """Return the uid of the task with this uid or name; a name without namespace must be unique."""
        tasks = self.state(cluster).tasks
        found = [each for each in tasks if task in (each.uid, each.name)]
        found = found or [each for each in tasks if each.name.rpartition("/")[2] == task]
        if not found:
            raise QuestionError(
                f"task {task!r} is not known in cluster {cluster!r}; `firmament get tasks` lists those that are"
            )
        if len(found) > 1:
            names = ", ".join(sorted(each.name for each in found)[:5])
            raise QuestionError(
                f"task {task!r} is ambiguous in cluster {cluster!r}: {names}; name one in full"
            )
        return found[0].uid

    def explanation(self, cluster: str, uid: str) -> pb.Explanation:
        """Return the verdict on the task for every machine."""
        return self._ask(self._stub.Explain, pb.ExplainRequest(cluster=cluster, task=uid))

    def network(self, cluster: str) -> pb.ExportNetworkResponse:
        """Return the network of the last solve."""
        reply = self._ask(self._stub.ExportNetwork, pb.ExportNetworkRequest(cluster=cluster))
        if not reply.dimacs:
            raise QuestionError(
                f"nothing has been solved in cluster {cluster!r} yet; try again after a round"
            )
        return reply

    def _ask(self, call: Callable[..., Reply], request: object) -> Reply:
        try:
            return call(request, timeout=self._seconds)
        except grpc.RpcError as error:
            raise QuestionError(self._reason(error)) from error

    def _reason(self, error: grpc.RpcError) -> str:
        code, details = error.code(), " ".join((error.details() or "").split())
        if code is grpc.StatusCode.UNAVAILABLE:
            return (
                f"{self._target}: no solver answers there; start one with `firmament serve`, "
                "or name another with --target"
            )
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            return f"{self._target}: no answer within {self._seconds:g} s; allow more with --timeout"
        if code is grpc.StatusCode.UNIMPLEMENTED:
            return f"{self._target}: the solver is too old for this; update it"
        if code in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION):
            return details
        return f"{self._target}: {code.name}: {details}"


def liveness(driven: bool) -> str:
    """Return "live" if a cluster's driver is connected, else "ended"."""
    return "live" if driven else "ended"


@contextmanager
def solver_client(target: str, seconds: float, tls: TlsFiles | None = None) -> Iterator[SolverClient]:
    """Connect to the solver at ``target``. Raise ``TlsError`` if the certificates cannot be used."""
    if tls is None:
        channel = grpc.insecure_channel(target, options=_CHANNEL_OPTIONS)
    else:
        channel = grpc.secure_channel(target, tls.read().channel_credentials(), options=_CHANNEL_OPTIONS)
    with channel:
        yield SolverClient(channel, target, seconds)
