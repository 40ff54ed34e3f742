"""Answers of a solver as tables and documents, and questions that are not answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from firmament.inspection.client import QuestionError, SolverClient, liveness, solver_client
from firmament.inspection.documents import (
    cluster_document,
    explanation_document,
    machine_document,
    task_document,
)
from firmament.inspection.tables import print_clusters, print_explanation, print_machines, print_tasks
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc

GIB = 2**30


def quantities(**amounts: int) -> list[pb.Quantity]:
    return [pb.Quantity(resource=name, amount=amount) for name, amount in amounts.items()]


STATE = pb.ListStateResponse(machines=1, pending=2, assumed=3, bound=4, rounds=5)
PENDING = pb.TaskState(uid="u", name="n/t", state="PENDING", priority=7, message="no room")
BOUND = pb.TaskState(uid="v", state="BOUND", machine="m")
LARGE = pb.MachineState(
    name="m",
    tasks=3,
    allocatable=quantities(cpu=2500, memory=4 * GIB, pods=110, gpu=2),
    free=quantities(cpu=500, memory=GIB, pods=107, gpu=1),
)
BARE = pb.MachineState(name="n")


def explained(**more: Any) -> pb.Explanation:
    def verdict(machine: str, feasible: bool, cost: float, *reasons: str) -> pb.MachineVerdict:
        models = [
            pb.ModelVerdict(model="cpu_mem", feasible=True, raw=1.5, score=80, cost=cost, details=["d"]),
            pb.ModelVerdict(model="own", feasible=feasible, raw=2.0, cost=0.5),
        ]
        return pb.MachineVerdict(
            machine=machine, feasible=feasible, cost=cost, reasons=reasons, models=models[: 1 + feasible]
        )

    machines = [
        verdict("c", True, 2.0),
        verdict("b", False, 0.0, "too small", "too far"),
        verdict("d", True, 1.0),
        verdict("a", True, 2.0),
    ]
    return pb.Explanation(task="u", name="n/t", state="PENDING", machines=machines, **more)


# --- documents -------------------------------------------------------------------------------------------------------


def test_documents_have_null_for_what_there_is_not():
    assert task_document(PENDING) == {
        "uid": "u",
        "name": "n/t",
        "state": "PENDING",
        "machine": None,
        "priority": 7,
        "message": "no room",
    }
    assert (task_document(BOUND)["machine"], task_document(BOUND)["message"]) == ("m", None)


def test_documents_of_clusters_and_machines():
    assert cluster_document("c", True, STATE) == {
        "cluster": "c",
        "live": True,
        "machines": 1,
        "pending": 2,
        "assumed": 3,
        "bound": 4,
        "rounds": 5,
    }
    assert machine_document(LARGE) == {
        "name": "m",
        "tasks": 3,
        "allocatable": {"cpu": 2500, "memory": 4 * GIB, "pods": 110, "gpu": 2},
        "free": {"cpu": 500, "memory": GIB, "pods": 107, "gpu": 1},
    }


def test_documents_of_explanations():
    found = explanation_document(explained())
    assert {name: found[name] for name in ("task", "name", "state", "machine")} == {
        "task": "u",
        "name": "n/t",
        "state": "PENDING",
        "machine": None,
    }
    assert list(found["machines"]) == ["c", "b", "d", "a"]
    refused = found["machines"]["b"]
    assert (refused["feasible"], refused["cost"], refused["reasons"]) == (
        False,
        0.0,
        ["too small", "too far"],
    )
    assert found["machines"]["c"]["models"] == {
        "cpu_mem": {"feasible": True, "raw": 1.5, "score": 80, "cost": 2.0, "details": ["d"]},
        "own": {"feasible": True, "raw": 2.0, "score": None, "cost": 0.5, "details": []},
    }
    assert explanation_document(explained(machine="m"))["machine"] == "m"


# --- tables ----------------------------------------------------------------------------------------------------------


def table(show: Callable[[], None], capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    show()
    lines = capsys.readouterr().out.splitlines()
    assert not any(line.endswith(" ") for line in lines)
    return [[cell.strip() for cell in line.split("   ") if cell.strip()] for line in lines]


def test_tables_of_clusters_and_tasks(capsys: pytest.CaptureFixture[str]):
    assert table(lambda: print_clusters([("c", True, STATE), ("d", False, STATE)]), capsys) == [
        ["CLUSTER", "STATE", "MACHINES", "PENDING", "ASSUMED", "BOUND", "ROUNDS"],
        ["c", "live", "1", "2", "3", "4", "5"],
        ["d", "ended", "1", "2", "3", "4", "5"],
    ]
    assert table(lambda: print_tasks([PENDING, BOUND]), capsys) == [
        ["TASK", "STATE", "MACHINE", "PRIORITY", "MESSAGE"],
        ["n/t", "PENDING", "-", "7", "no room"],
        ["v", "BOUND", "m", "0"],
    ]
    assert table(lambda: print_tasks([]), capsys) == [["No tasks found."]]


def test_tables_of_machines_have_the_resources_of_any_of_them(capsys: pytest.CaptureFixture[str]):
    assert table(lambda: print_machines([LARGE, BARE]), capsys) == [
        ["MACHINE", "TASKS", "FREE CPU", "FREE MEMORY", "FREE PODS", "FREE GPU"],
        ["m", "3", "0.5 of 2.5", "1.0 of 4.0 GiB", "107 of 110", "1 of 2"],
        ["n", "0", "0 of 0", "0.0 of 0.0 GiB", "0 of 0", "0 of 0"],
    ]
    assert table(lambda: print_machines([]), capsys) == [["No machines found."]]


def test_explanations_have_the_cheapest_machine_at_the_top(capsys: pytest.CaptureFixture[str]):
    first, blank, header, *rows = table(lambda: print_explanation(explained()), capsys)
    assert first == ["Task n/t is PENDING; 3 of 4 machines are feasible."]
    assert blank == []
    assert header == ["MACHINE", "FEASIBLE", "COST", "CPU_MEM", "OWN", "REASONS"]
    assert rows == [
        ["d", "yes", "1", "1", "0.5"],
        ["a", "yes", "2", "2", "0.5"],
        ["c", "yes", "2", "2", "0.5"],
        ["b", "no", "0", "0", "-", "too small; too far"],
    ]
    lines = table(lambda: print_explanation(pb.Explanation(task="u", state="BOUND", machine="m")), capsys)
    assert len(lines) == 1
    assert lines[0][0].startswith("Task u is BOUND on m; ")


# --- questions -------------------------------------------------------------------------------------------------------


class Answering(scheduler_pb2_grpc.SchedulerServicer):
    """A solver with some clusters, whose tasks are those of each cluster's name."""

    def __init__(self) -> None:
        self.clusters: list[str] = []
        self.live: list[str] = []
        self.fault: tuple[grpc.StatusCode, str] | None = None
        self.asked: list[Any] = []
        self.dimacs = ""

    def ListState(self, request: Any, context: Any) -> Any:  # noqa: N802 - as in the protocol
        self.asked.append(request)
        if self.fault is not None:
            context.abort(*self.fault)
        tasks = [PENDING, pb.TaskState(uid="w", name="o/t"), pb.TaskState(uid="x", name="o/s")]
        return pb.ListStateResponse(clusters=self.clusters, live_clusters=self.live, tasks=tasks)

    def ExportNetwork(self, request: Any, context: Any) -> Any:  # noqa: N802 - as in the protocol
        return pb.ExportNetworkResponse(dimacs=self.dimacs, round=3)


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Answering, str]]:
    servicer: Answering = Answering()  # type: ignore[abstract]  # of the calls that are asked here
    server = grpc.server(ThreadPoolExecutor(1))
    scheduler_pb2_grpc.add_SchedulerServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield servicer, f"127.0.0.1:{port}"
    server.stop(None).wait()


@pytest.fixture
def asking(served: tuple[Answering, str]) -> Iterator[tuple[Answering, SolverClient, str]]:
    servicer, target = served
    servicer.clusters, servicer.live, servicer.fault, servicer.dimacs = [], [], None, ""
    servicer.asked.clear()
    with solver_client(target, 5.0) as client:
        yield servicer, client, target


def test_the_only_cluster_or_the_only_live_one_is_meant(asking: tuple[Answering, SolverClient, str]):
    servicer, client, target = asking
    assert client.cluster_named("named") == "named"
    assert servicer.asked == []
    with pytest.raises(QuestionError) as nothing:
        client.cluster_named(None)
    assert str(nothing.value) == f"{target}: the solver knows no cluster yet; connect a driver first"
    servicer.clusters = ["a"]
    assert client.clusters() == {"a": False}
    assert client.cluster_named(None) == "a"
    servicer.clusters, servicer.live = ["a", "b"], ["b"]
    assert client.cluster_named(None) == "b"
    servicer.live = []
    with pytest.raises(QuestionError) as several:
        client.cluster_named(None)
    assert str(several.value) == (
        f"{target}: the solver knows several clusters; name one with --cluster: 'a' (ended), 'b' (ended)"
    )
    assert (liveness(True), liveness(False)) == ("live", "ended")


def test_lists_are_asked_for_only_where_they_are_shown(asking: tuple[Answering, SolverClient, str]):
    servicer, client, _ = asking
    client.state("c")
    client.state("c", lists=False)
    client.clusters()
    assert [(each.cluster, each.with_tasks) for each in servicer.asked] == [
        ("c", True),
        ("c", False),
        ("", False),
    ]


@pytest.mark.parametrize(("task", "uid"), [("u", "u"), ("n/t", "u"), ("o/t", "w"), ("s", "x")])
def test_tasks_are_found_by_uid_or_name(asking: tuple[Answering, SolverClient, str], task: str, uid: str):
    assert asking[1].uid_of("c", task) == uid


def test_names_that_mean_several_tasks_or_none(asking: tuple[Answering, SolverClient, str]):
    with pytest.raises(QuestionError) as several:
        asking[1].uid_of("c", "t")
    assert str(several.value) == "task 't' is ambiguous in cluster 'c': n/t, o/t; name one in full"
    with pytest.raises(
        QuestionError, match="task 'z' is not known in cluster 'c'; `firmament get tasks` lists"
    ):
        asking[1].uid_of("c", "z")


def test_networks(asking: tuple[Answering, SolverClient, str]):
    servicer, client, _ = asking
    with pytest.raises(
        QuestionError, match="nothing has been solved in cluster 'c' yet; try again after a round"
    ):
        client.network("c")
    servicer.dimacs = "p min 1 1"
    assert (client.network("c").dimacs, client.network("c").round) == ("p min 1 1", 3)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (grpc.StatusCode.NOT_FOUND, "some details"),
        (grpc.StatusCode.FAILED_PRECONDITION, "some details"),
        (grpc.StatusCode.UNIMPLEMENTED, "{target}: the solver is too old for this; update it"),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "{target}: no answer within 5 s; allow more with --timeout"),
        (grpc.StatusCode.INTERNAL, "{target}: INTERNAL: some details"),
        (
            grpc.StatusCode.UNAVAILABLE,
            "{target}: no solver answers there; start one with `firmament serve`, or name another with --target",
        ),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_faults_are_told_in_one_line(
    asking: tuple[Answering, SolverClient, str], code: grpc.StatusCode, said: str
):
    servicer, client, target = asking
    servicer.fault = code, "some\n  details"
    with pytest.raises(QuestionError) as refused:
        client.clusters()
    assert str(refused.value) == said.format(target=target)
