"""What the dashboard knows of programs, rounds, figures and people who look, apart from any server."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from poseidon.live.figures import Figures, Quantiles
from poseidon.ui.audience import PATIENCE, Audience
from poseidon.ui.history import GAP_SECONDS, KEPT_SECONDS, FigureHistory
from poseidon.ui.known_rounds import MOST_FLOWS, MOST_ROUNDS, KnownRounds
from poseidon.ui.page_data import About, BridgeStatus, Capabilities, Known, LeaderStatus, SolverStatus
from poseidon.ui.queues import Queues
from poseidon.ui.versions import SUBJECTS, Versions
from poseidon.ui.work.inputs import ClusterInput
from poseidon.ui.work.process import JobError
from protos.firmament.v1 import scheduler_pb2 as pb

NONE: Any = None


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


# --- programs -----------------------------------------------------------------------------------------------------


def test_whether_the_bridge_answers_is_news_only_when_it_changes():
    bridge = BridgeStatus()
    steps = [(False, 1.0), (True, 2.0), (True, 3.0), (False, 4.0), (False, 5.0), (True, 6.0)]
    news = [bridge.note_answer(at, answers=answers) for answers, at in steps]
    assert news == [False, True, False, True, False, True]
    assert (bridge.answers, bridge.since) == (True, 6.0)


def test_earlier_leaders_are_remembered_the_last_five_of_them():
    leader = LeaderStatus()
    assert not leader.set_holder(None)
    news = [leader.set_holder(each) for each in ("a", "b", "b", "a", None, "c")]
    assert news == [True, True, False, True, True, True]
    assert list(leader.others) == ["b", "a"]
    for each in "defghi":
        leader.set_holder(each)
    assert list(leader.others) == ["d", "e", "f", "g", "h"]
    leader.set_holder("")
    leader.set_holder("x")
    assert "" not in leader.others


def test_a_session_says_where_data_come_from_and_who_answers():
    about = About("live", "t", "c", Capabilities(flow=True), ["w"])
    known = Known(about, NONE, Versions(), SolverStatus("connected", "a:1", since=5.0))
    known.bridge.note_answer(7.0, answers=True)
    assert known.session() == {
        "source": "live",
        "title": "t",
        "cluster": "c",
        "capabilities": {
            "figures": False,
            "flow": True,
            "cluster": False,
            "pending": False,
            "explain": False,
            "cures": False,
            "groups": False,
            "queues": False,
        },
        "warnings": ["w"],
        "solver": {"state": "connected", "target": "a:1", "since": 5.0},
        "bridge": {"answers": True, "since": 7.0},
    }


def test_versions_rise_when_changes_are_published():
    versions, calls = Versions(), list[int]()
    versions.listen(lambda: calls.append(1))
    assert not versions.publish()
    versions.mark("flow", "groups")
    versions.mark("flow")
    assert set(versions.vector().values()) == {1}
    assert versions.publish()
    assert {each: versions.get(each) for each in SUBJECTS} == {
        **dict.fromkeys(SUBJECTS, 1),
        "flow": 2,
        "groups": 2,
    }
    assert not versions.publish()
    assert calls == [1]


# --- rounds -------------------------------------------------------------------------------------------------------


def made_round(number: int, **stats: Any) -> pb.RoundSummary:
    return pb.RoundSummary(round=number, ended=number + 0.5, stats=pb.RoundStats(**stats), evictions=2)


def test_a_round_is_summed_up():
    book = KnownRounds()
    assert (book.latest, book.latest_flow, book.summaries()) == (0, 0, [])
    given = {"machines": 1, "tasks": 2, "classes": 3, "arcs": 4, "placed": 5, "pending": 6, "cost": 7}
    times = {"snapshot_seconds": 0.1234567, "solve_seconds": 2.0}
    assert book.add([made_round(3, gap=0.1234567891, certified=True, **given, **times)])
    assert book.summaries() == [
        {
            "round": 3,
            "ended": 3.5,
            "seconds": {"snapshot": 0.123457, "network": 0.0, "solve": 2.0, "admit": 0.0},
            **given,
            "evictions": 2,
            "certified": True,
            "gap": 0.123456789,
        }
    ]
    assert (book.get_end(3), book.get_end(4)) == (3.5, 0.0)


def test_the_last_rounds_are_kept_and_none_comes_twice():
    book = KnownRounds()
    assert book.add([made_round(2), made_round(3)])
    assert not book.add([made_round(1), made_round(3)])
    assert not book.add([])
    assert [each["round"] for each in book.summaries()] == [2, 3]
    book.add([made_round(number) for number in range(4, MOST_ROUNDS + 3)])
    assert [book.summaries()[at]["round"] for at in (0, -1)] == [3, MOST_ROUNDS + 2]
    assert len(book.summaries()) == MOST_ROUNDS
    book.put_flow(pb.RoundFlow(round=5))
    book.clear()
    assert (book.latest, book.flow(5), book.summaries()) == (0, None, [])
    assert book.add([made_round(1)]), "another solver begins at 1"
    book.put_summaries({9: {"round": 9}})
    assert book.latest == 9


def test_the_flows_read_last_are_kept():
    book = KnownRounds()
    for number in range(MOST_FLOWS):
        book.put_flow(pb.RoundFlow(round=number + 1))
    book.put_flow(pb.RoundFlow(round=1))
    book.put_flow(pb.RoundFlow(round=MOST_FLOWS + 1))
    assert book.flow(2) is None, "it was read longest ago"
    for number, found in ((1, 1), (0, MOST_FLOWS + 1), (MOST_FLOWS, MOST_FLOWS)):
        flow = book.flow(number)
        assert flow is not None
        assert flow.round == found
    book.offered = [2, 3, 99]
    assert book.list_rounds() == [1, 2, *range(3, MOST_FLOWS + 2), 99]


# --- figures ------------------------------------------------------------------------------------------------------

NAN = float("nan")


def figures(bound: float = 0.0, rounds: float = 0.0, median: float = NAN, most: float = NAN) -> Figures:
    given = dict.fromkeys(Figures.__dataclass_fields__, NONE)
    made: Figures = replace(Figures(**given), bound=bound, rounds=rounds, scheduling=Quantiles(median, most))
    return made


def test_figures_are_columns_with_a_gap_where_nobody_looked():
    history = FigureHistory()
    assert history.as_json() == {
        name: []
        for name in ("at", "boundPerSecond", "schedulingP50", "schedulingP99", "pending", "roundsPerSecond")
    }
    history.add(0.0, figures(1.23456, 2.34567, 0.12345678, NAN), 3)
    history.add(GAP_SECONDS, None, 4)
    assert [history.latest] == [None]
    history.add(2 * GAP_SECONDS + 2, figures(), 5)
    assert history.latest is not None
    assert history.as_json() == {
        "at": [0.0, GAP_SECONDS, 1.5 * GAP_SECONDS + 1, 2 * GAP_SECONDS + 2],
        "boundPerSecond": [1.235, None, None, 0.0],
        "schedulingP50": [0.123457, None, None, None],
        "schedulingP99": [None] * 4,
        "pending": [3, 4, None, 5],
        "roundsPerSecond": [2.346, None, None, 0.0],
    }


def test_figures_are_kept_for_a_quarter_of_an_hour():
    history = FigureHistory()
    for at in (0.0, 1.0, KEPT_SECONDS, KEPT_SECONDS + 1):
        history.add(at, None, 0)
    assert history.as_json()["at"][0] == 1.0


# --- people -------------------------------------------------------------------------------------------------------


def test_who_has_asked_lately_looks():
    clock = Clock()
    audience = Audience(clock)
    assert [audience.looks()] == [False]
    audience.note_request("flow")
    assert [audience.looks(each) for each in ("", "flow", "groups")] == [True, True, False]
    clock.now += PATIENCE
    audience.note_request()
    clock.now += 1
    assert [audience.looks(each) for each in ("", "flow")] == [True, False]
    clock.now += PATIENCE
    assert [audience.looks()] == [False]
    audience.streams = 1
    assert [audience.looks(each) for each in ("", "flow")] == [True, False]


async def test_who_polls_waits_until_somebody_looks():
    clock = Clock()
    audience = Audience(clock)
    audience.note_request()
    clock.now += PATIENCE + 1
    waiting = asyncio.create_task(audience.wait())
    for _ in range(3):
        await asyncio.sleep(0)
    assert not waiting.done()
    audience.note_request()
    await asyncio.wait_for(waiting, 5)


# --- queues -------------------------------------------------------------------------------------------------------


class Worker:
    """Does jobs in turn; ``answers``: what each returns, or its error."""

    def __init__(self, clock: Clock, *answers: Any, seconds: float = 0.0) -> None:
        self.clock, self.answers, self.seconds, self.jobs = clock, list(answers), seconds, 0

    async def do(self, _job: Any, _seconds: float, begun: Any) -> Any:
        self.jobs += 1
        begun()
        self.clock.now += self.seconds
        found = self.answers.pop(0)
        if isinstance(found, str):
            raise JobError(found)
        return found


def made_queues(worker: Any, *paths: str) -> Queues:
    return Queues(worker, ClusterInput(paths=paths), lambda _: {}, worker.clock)


FOUND = {
    "asOf": 9.0,
    "note": "n",
    "queues": [{"queue": "a"}, {"queue": "b"}, {"queue": "c"}],
    "members": {"w4": "b"},
    "waiting": {"b": [{"workload": f"w{at}"} for at in range(6)]},
}


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_queues_are_described_when_somebody_asks():
    worker = Worker(Clock(), FOUND)
    queues = made_queues(worker)
    assert queues.list_queues(0, 9) == {
        "state": "working",
        "asOf": 0.0,
        "error": None,
        "note": "",
        "total": 0,
        "queues": [],
    }
    await settle()
    assert queues.list_queues(1, 1) == {
        "state": "done",
        "asOf": 9.0,
        "error": None,
        "note": "n",
        "total": 3,
        "queues": [{"queue": "b"}],
    }
    assert worker.jobs == 1


async def test_workloads_are_shown_in_pages():
    queues = made_queues(Worker(Clock(), FOUND))
    queues.list_queues(0, 1)
    await settle()

    def page(queue: str, workload: str, offset: int, limit: int = 2) -> tuple[Any, int, int, list[str]]:
        found = queues.list_workloads(queue, workload, offset, limit)
        return found["queue"], found["total"], found["offset"], [each["workload"] for each in found["items"]]

    assert page("b", "", 0) == ({"queue": "b"}, 6, 0, ["w0", "w1"])
    assert page("b", "", 5) == ({"queue": "b"}, 6, 5, ["w5"])
    assert page("b", "w3", 0) == ({"queue": "b"}, 6, 2, ["w2", "w3"])
    assert page("", "w4", 0) == ({"queue": "b"}, 6, 4, ["w4", "w5"])
    assert page("b", "none", 3) == ({"queue": "b"}, 6, 2, ["w2", "w3"])
    assert page("a", "", 0) == ({"queue": "a"}, 0, 0, [])
    assert page("none", "", 0) == (None, 0, 0, [])


@pytest.mark.parametrize(("seconds", "kept"), [(0.5, 15.0), (2.0, 20.0)])
async def test_of_a_live_cluster_they_are_described_anew_after_a_while(seconds, kept):
    clock = Clock()
    worker = Worker(clock, FOUND, "it failed", FOUND, seconds=seconds)
    queues = made_queues(worker)
    queues.list_queues(0, 1)
    await settle()
    clock.now += kept - 0.1
    assert queues.list_queues(0, 1)["state"] == "done"
    clock.now += 0.1
    assert queues.list_queues(0, 1)["state"] == "working"
    await settle()
    found = queues.list_queues(0, 1)
    assert (found["state"], found["error"], found["total"]) == ("failed", "it failed", 3)
    assert worker.jobs == 2


async def test_of_files_they_are_described_once():
    clock = Clock()
    worker = Worker(clock, "it failed", FOUND)
    queues = made_queues(worker, "a.yaml")
    for _ in range(4):
        queues.list_queues(0, 1)
        await settle()
        clock.now += 100_000
    assert worker.jobs == 2, "once more after it has failed"


async def test_starts_are_those_of_one_queues_workloads():
    clock = Clock()
    queues = made_queues(Worker(clock, FOUND, {"queues": {"b": 1}, "workloads": {"w2": 5.0, "x": 6.0}}))
    queues.list_queues(0, 1)
    await settle()
    assert queues.expect_starts("b")["workloads"] == {}
    await settle()
    found = queues.expect_starts("b")
    assert (found["state"], found["queues"], found["workloads"]) == ("done", {"b": 1}, {"w2": 5.0})
    assert queues.expect_starts("a")["workloads"] == {}
