"""Records the messages to and from a solver: the event loop queues entries, a thread compresses and writes them.

The recorded messages are those of the protocol. The messages contain only what placement reads: no environment
variables, no commands, no content of Secrets. If the disk is slow or full, entries are lost, but bindings are never
delayed.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from poseidon.recording.recording_files import SegmentWriter
from poseidon.recording.stream_state import StreamState
from protos.conventions.secrets import redact_configuration
from protos.firmament.v1 import scheduler_pb2 as pb

_log = logging.getLogger(__name__)

_MOST_WAITING = 64 << 20
"""The most bytes of entries that may wait to be written."""
_BLOCK = 256 << 10
"""How many bytes of entries are compressed together."""
_BATCH = 2000
"""Number of events per message at the beginning of a file."""
CLOSE_SECONDS = 3.0


class StreamRecorder:
    """Records one stream of messages after another.

    The event loop's thread calls the recorder; ``wall`` returns the seconds since the epoch.
    """

    def __init__(
        self,
        writer: SegmentWriter,
        wall: Callable[[], float],
        configuration: Mapping[str, Any],
        block_seconds: float = 1.0,
    ) -> None:
        """Start a recorder.

        ``block_seconds`` is the longest time for which entries are gathered before they are written.
        """
        self._wall = wall
        text = json.dumps(redact_configuration(configuration), default=str) if configuration else ""
        self._stream = pb.RecordedStream(configuration=text)
        self._state = StreamState()
        self._steps = 0
        self._whole = False  # set once a snapshot has been sent completely
        self._gap = False
        self._thread = _WriterThread(writer, block_seconds)

    def begin(self, hello: pb.Hello, welcome: pb.Welcome) -> None:
        """Record that a stream begins: the bridge greeted the solver, and the solver answered."""
        del self._stream.needs[:]
        self._stream.needs.extend(welcome.needs)
        self._stream.cluster, self._stream.client = hello.cluster, hello.client
        self._stream.server = welcome.server
        self._steps, self._whole, self._gap = 0, False, False
        self._state.clear()
        self._put(pb.Recorded(stream=self._stream), begins=True)

    def note_sent(self, message: pb.ClientMessage) -> None:
        """Record a message that is about to be sent to the solver."""
        body = message.WhichOneof("body")
        at = self._wall()
        if self._gap or (self._whole and self._thread.is_full):
            self._begin_file(at)
        self._put(pb.Recorded(at=at, sent=message))
        self._state.note_sent(message, at)
        self._steps += 1 + (body == "events" and len(message.events.reports) > 0)
        self._whole = self._whole or body == "snapshot_end"

    def note_round(self, result: pb.RoundResult) -> None:
        """Record the result of a round, without the reasons why tasks wait."""
        at = self._wall()
        self._state.note_round(result, at)
        kept = pb.RoundResult(round=result.round, deltas=result.deltas, stats=result.stats)
        if result.HasField("decided"):
            kept.decided.CopyFrom(result.decided)
        self._put(pb.Recorded(at=at, round=kept))

    def idle(self) -> bool:
        """Return whether every queued entry has been written, or could not be written."""
        return self._thread.waiting == 0

    def close(self) -> None:
        """Write the queued entries as far as time allows."""
        self._thread.close()

    def _begin_file(self, at: float) -> None:
        """Begin another file with the whole known state, unless the writing thread is behind."""
        if not self._whole or self._thread.is_behind:
            return
        self._gap = False
        stream = pb.RecordedStream()
        stream.CopyFrom(self._stream)
        stream.steps = self._steps
        self._put(pb.Recorded(at=at, stream=stream), begins=True)
        self._put(pb.Recorded(at=at, sent=pb.ClientMessage(snapshot_begin=pb.SnapshotBegin())))
        message = pb.ClientMessage()
        for event in self._state.list_events():
            message.events.events.append(event)
            if len(message.events.events) >= _BATCH:
                self._put(pb.Recorded(at=at, sent=message))
                message = pb.ClientMessage()
        self._put(pb.Recorded(at=at, sent=message))
        self._put(pb.Recorded(at=at, sent=pb.ClientMessage(snapshot_end=pb.SnapshotEnd())))

    def _put(self, entry: pb.Recorded, *, begins: bool = False) -> None:
        if not self._gap:
            self._gap = not self._thread.put(entry.SerializeToString(), begins=begins)


class _WriterThread:
    """A thread that writes entries in the order in which they are queued."""

    def __init__(self, writer: SegmentWriter, block_seconds: float) -> None:
        self._writer, self._block_seconds = writer, block_seconds
        self._queue: queue.SimpleQueue[tuple[bytes, bool] | None] = queue.SimpleQueue()
        self.waiting = 0
        """Bytes of entries that have not been written."""
        self._lock = threading.Lock()
        self._failed = False
        self._put_files = self._begun_files = 0
        self._full_file = -1
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    @property
    def is_full(self) -> bool:
        """Return whether another file should begin."""
        return self._full_file == self._put_files

    @property
    def is_behind(self) -> bool:
        """Return whether many entries wait to be written."""
        return self.waiting > _MOST_WAITING // 2

    def put(self, entry: bytes, *, begins: bool) -> bool:
        """Queue an entry; ``begins``: whether another file starts with it; return whether the queue had room for it."""
        if self.waiting + len(entry) > _MOST_WAITING:
            _log.warning("recording has a gap, entries come faster than they can be written")
            return False
        self._put_files += begins
        with self._lock:
            self.waiting += len(entry)
        self._queue.put((entry, begins))
        return True

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Write the queued entries, for at most ``seconds``."""
        self._queue.put(None)
        self._thread.join(seconds)

    def _run(self) -> None:
        block: list[bytes] = []
        size = 0
        while True:
            try:
                item = self._queue.get(timeout=self._block_seconds if block else None)
            except queue.Empty:
                item = (b"", False)
            entry, begins = item or (b"", False)
            if block and (item is None or begins or not entry or size >= _BLOCK):
                self._try(partial(self._writer.write, block))
                with self._lock:
                    self.waiting -= size
                block, size = [], 0
            if item is None:
                self._try(self._writer.close)
                return
            if begins:
                self._begun_files += 1
                self._try(self._writer.begin)
            if entry:
                block.append(entry)
                size += len(entry)
            if self._writer.size >= self._writer.most:
                self._full_file = self._begun_files

    def _try(self, work: Callable[[], None]) -> None:
        """Call a function that writes to the file.

        If several calls in a row fail, only the first failure is logged, because the next file may succeed.
        """
        try:
            work()
            self._failed = False
        except OSError as error:
            if not self._failed:
                _log.warning('recording fails, going on without it error="%s"', error)
            self._failed = True
