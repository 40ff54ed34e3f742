"""Decides the rounds of a recording again, and compares the decisions with the recorded ones.

Before each round, the solver gets the messages that it had received when the round was recorded, and its clock shows
the recorded time. Decisions about a stream that was recorded from its beginning are therefore the same. If the
beginning of a recording was deleted, the solver starts from the recorded state, without its back-offs and
reservations. Some solvers do not report which messages they had received before a round. If the solver does not
report that, a round gets all messages that the bridge sent before the round's result came.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from poseidon.embedding import EmbeddedScheduler, check_configuration, load_configuration
from protos.configuration.sections import Document
from protos.firmament.v1 import scheduler_pb2 as pb

MOST_DIFFERENCES = 100
"""The most differences that are listed."""


class Difference(NamedTuple):
    """A task about which a replayed round decided otherwise than the recorded one."""

    round: int
    """Number of the round."""
    task: str
    """Uid of the task."""
    was: str
    """The recorded decision, "" for none."""
    now: str
    """The replayed decision, "" for none."""


@dataclass(slots=True)
class ReplayedDecisions:
    """The rounds of a recording compared with their repetition."""

    streams: int = 0
    """Number of streams, each of which begins with a snapshot."""
    partial: int = 0
    """Number of streams whose beginning was not recorded."""
    rounds: int = 0
    """Number of rounds."""
    decisions: int = 0
    """Number of recorded placements and evictions."""
    same: int = 0
    """Number of recorded decisions that were made again in the same round."""
    first: list[Difference] = field(default_factory=list)
    """The first differences, at most ``MOST_DIFFERENCES``."""
    refused: int = 0
    """Number of messages that the solver refused."""


class _Step(NamedTuple):
    at: float
    events: list[pb.Event] | None
    reports: list[pb.BindingReport]


class _Stream:
    """A stream of the recording: a solver, the number of steps that it has applied, and the steps that follow."""

    def __init__(self, configuration: Document, applied: int) -> None:
        self.now = 0.0
        self.scheduler = EmbeddedScheduler(configuration, lambda: self.now)
        self.applied = applied
        self.coming: deque[_Step] = deque()
        self.refused = 0
        self.skips = False
        """Whether the messages repeat known state, being the beginning of a file that continues the stream."""
        self.begins_midway = applied > 0

    @property
    def sent(self) -> int:
        """Number of steps that the bridge has sent."""
        return self.applied + len(self.coming)

    def queue_message(self, at: float, message: pb.ClientMessage) -> None:
        """Queue a recorded message for the solver; if a snapshot begins midway through a file, apply it at once."""
        body = message.WhichOneof("body")
        events = list(message.events.events) if body == "events" else None
        reports = list(message.reports.reports if body == "reports" else message.events.reports)
        if self.begins_midway:
            self._apply(_Step(at, events, reports))
            self.begins_midway = body != "snapshot_end"
            return
        if body == "events" and reports:
            self.coming.append(_Step(at, None, reports))
            reports = []
        self.coming.append(_Step(at, events, reports))

    def catch_up(self, steps: int, latest: float) -> None:
        """Apply those of the first ``steps`` that are not applied yet.

        Meanwhile the solver's clock shows the recorded time of each step, at most ``latest``.
        """
        while self.coming and self.applied < steps:
            step = self.coming.popleft()
            self._apply(step._replace(at=min(step.at, latest)))
            self.applied += 1
        self.now = max(self.now, latest)

    def _apply(self, step: _Step) -> None:
        self.now = max(self.now, step.at)
        try:
            if step.reports:
                self.scheduler.report(step.reports)
            if step.events:
                self.scheduler.apply(step.events)
        except ValueError:  # The recorded solver failed, too, and the stream ended there.
            self.refused += 1

    def decide(self, recorded: pb.RoundResult, at: float) -> pb.RoundResult:
        """Run a recorded round again; its result came at the time ``at``."""
        known = recorded.decided
        if not recorded.HasField("decided"):
            known = pb.DecidedOn(opened_after=self.sent, closed_after=self.sent, opened_at=at, closed_at=at)
        self.catch_up(known.opened_after, known.opened_at)
        self.scheduler.next_round_in()
        return self.scheduler.run_round(
            whole=not known.direct, meanwhile=lambda: self.catch_up(known.closed_after, known.closed_at)
        )


def decide_again(
    entries: Iterable[pb.Recorded],
    configuration: Document | None = None,
    note: Callable[[ReplayedDecisions], object] = lambda _: None,
) -> ReplayedDecisions:
    """Decide all rounds of a recording again, under ``configuration`` or else the recorded one, and compare.

    After each round, ``note`` gets the comparison so far. Raises ``ConfigurationError`` if the recorded configuration
    cannot be used.
    """
    found = ReplayedDecisions()
    stream: _Stream | None = None
    for entry in entries:
        body = entry.WhichOneof("body")
        if body == "stream":
            stream = _continue_stream(stream, entry.stream, configuration, found)
        elif stream is None:
            continue
        elif body == "sent":
            if not stream.skips:
                stream.queue_message(entry.at, entry.sent)
            stream.skips = stream.skips and entry.sent.WhichOneof("body") != "snapshot_end"
        elif body == "round":
            _compare(entry.round, stream.decide(entry.round, entry.at), found)
            note(found)
    if stream is not None:
        found.refused += stream.refused
    return found


def _continue_stream(
    stream: _Stream | None, begins: pb.RecordedStream, given: Document | None, found: ReplayedDecisions
) -> _Stream:
    """Return the stream that a file continues: ``stream`` if no file is missing in between, else a new one."""
    if stream is not None and begins.steps and begins.steps == stream.sent:
        stream.skips = True
        return stream
    if stream is not None:
        found.refused += stream.refused
    found.streams += 1
    found.partial += begins.steps > 0
    return _Stream(given if given is not None else read_configuration(begins), begins.steps)


def read_configuration(stream: pb.RecordedStream) -> Document:
    """Return the configuration that a recording contains, or the defaults.

    Raises ``ConfigurationError`` if the recorded configuration cannot be used.
    """
    if not stream.configuration:
        return load_configuration(None)
    return check_configuration(json.loads(stream.configuration), "the recording's configuration", {})


def _compare(was: pb.RoundResult, now: pb.RoundResult, found: ReplayedDecisions) -> None:
    found.rounds += 1
    before, after = _list_decisions(was), _list_decisions(now)
    found.decisions += len(before)
    for task, decision in before.items():
        same = after.get(task) == decision
        found.same += same
        if not same and len(found.first) < MOST_DIFFERENCES:
            found.first.append(Difference(was.round, task, decision, after.get(task, "")))
    for task, decision in after.items():
        if task not in before and len(found.first) < MOST_DIFFERENCES:
            found.first.append(Difference(was.round, task, "", decision))


def _list_decisions(result: pb.RoundResult) -> dict[str, str]:
    """Return the decision of a round about each task, in words."""
    found = {}
    for delta in result.deltas:
        withdrawn = " withdrawn" if delta.withdrawn else ""
        word = "" if delta.kind == pb.Delta.PLACE else f"{pb.Delta.Kind.Name(delta.kind).lower()}{withdrawn} "
        found[delta.task] = f"{word}{delta.machine}"
    return found
