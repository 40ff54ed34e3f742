"""What the solver is told of samples: the latest, once, also on a new stream, and from the preferred source."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from poseidon.metrics_sources.samples import LatestSamples
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.support.effort import examples

NODES = ("n1", "n2", "n3")
SOURCES = ("first", "second")


def sample(node: str, time: float, interval: float = 60.0, cpu: float = 1.0) -> pb.MachineSample:
    usage = [pb.Usage(resource="cpu", amount=cpu)]
    return pb.MachineSample(machine=node, time=time, report_interval=interval, usage=usage)


def told(events: list[pb.Event]) -> list[tuple[str, float]]:
    return [(e.machine_sample.machine, e.machine_sample.time) for e in events if e.HasField("machine_sample")]


def test_samples_are_told_once_and_on_every_new_stream():
    book = LatestSamples(SOURCES)
    book.put("first", sample("n1", 100.0))
    book.put("first", sample("n1", 160.0))
    assert told(book.take_events(lambda _: True)) == [("n1", 160.0)]
    assert book.take_events(lambda _: True) == []
    book.forget_sent()
    assert told(book.take_events(lambda _: True)) == [("n1", 160.0)]


def test_samples_wait_for_their_node():
    book = LatestSamples(SOURCES)
    book.put("first", sample("n1", 100.0))
    assert book.take_events(lambda _: False) == []
    book.mark("n1")
    assert told(book.take_events(lambda _: True)) == [("n1", 100.0)]


def test_a_sample_that_is_gone_is_taken_back():
    book = LatestSamples(SOURCES)
    book.put("first", sample("n1", 100.0))
    book.take_events(lambda _: True)
    book.remove("first", "n1")
    assert [event.machine_sample_removed for event in book.take_events(lambda _: True)] == ["n1"]
    book.remove("first", "n1")
    assert book.take_events(lambda _: True) == []


def test_the_preferred_source_counts_until_it_has_evidently_stopped():
    book = LatestSamples(SOURCES)
    book.put("second", sample("n1", 100.0, interval=15.0))
    assert told(book.take_events(lambda _: True)) == [("n1", 100.0)]
    book.put("first", sample("n1", 40.0))
    assert told(book.take_events(lambda _: True)) == [("n1", 40.0)], "older, but within what it is late by"
    book.put("second", sample("n1", 220.0, interval=15.0))
    assert told(book.take_events(lambda _: True)) == [("n1", 40.0)]
    book.put("second", sample("n1", 221.0, interval=15.0))
    assert told(book.take_events(lambda _: True)) == [("n1", 221.0)], "three reports were missed"
    book.put("first", sample("n1", 230.0))
    assert told(book.take_events(lambda _: True)) == [("n1", 230.0)]
    book.remove("first", "n1")
    assert told(book.take_events(lambda _: True)) == [("n1", 221.0)]


class Telling(RuleBasedStateMachine):
    """A solver that is told what the book says knows what counts, however changes and streams interleave."""

    def __init__(self) -> None:
        super().__init__()
        self.book = LatestSamples(SOURCES)
        self.given: dict[tuple[str, str], pb.MachineSample] = {}
        self.machines: set[str] = set()
        self.solver: dict[str, pb.MachineSample] = {}

    @rule(source=st.sampled_from(SOURCES), node=st.sampled_from(NODES), time=st.integers(0, 1000))
    def report(self, source: str, node: str, time: int) -> None:
        self.given[source, node] = sample(node, float(time))
        self.book.put(source, sample(node, float(time)))

    @rule(source=st.sampled_from(SOURCES), node=st.sampled_from(NODES))
    def withdraw(self, source: str, node: str) -> None:
        self.given.pop((source, node), None)
        self.book.remove(source, node)

    @rule(node=st.sampled_from(NODES))
    def appear(self, node: str) -> None:
        if node not in self.machines:
            self.machines.add(node)
            self.book.mark(node)

    @rule(node=st.sampled_from(NODES))
    def vanish(self, node: str) -> None:
        if node in self.machines:
            self.machines.discard(node)
            self.solver.pop(node, None)
            self.book.mark(node)

    @rule()
    def new_stream(self) -> None:
        self.solver.clear()
        self.book.forget_sent()

    @invariant()
    def the_solver_knows_what_counts(self) -> None:
        for event in self.book.take_events(self.machines.__contains__):
            if event.HasField("machine_sample"):
                found = event.machine_sample
                known = self.solver.setdefault(found.machine, found)
                assert found.time >= known.time, "a solver ignores what is older than what it knows"
                self.solver[found.machine] = found
            else:
                del self.solver[event.machine_sample_removed]
        assert self.solver == {
            node: best for node in self.machines if (best := self._counts(node)) is not None
        }

    def _counts(self, node: str) -> pb.MachineSample | None:
        first, second = (self.given.get((source, node)) for source in SOURCES)
        if first is None or second is None:
            return first or second
        return second if second.time - first.time > 180 else first


Telling.TestCase.settings = settings(max_examples=examples(150), stateful_step_count=25)
TestTelling = Telling.TestCase
