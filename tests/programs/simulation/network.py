"""The network between processes: how long messages take, who cannot reach whom, and what breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.programs.simulation.event_queue import EventQueue


@dataclass
class Rates:
    """How often a message meets a fault: shares between 0 and 1, and the usual latency in seconds."""

    latency: float = 0.001
    slow: float = 0.0
    """Messages that take up to 2 s."""
    refused: float = 0.0
    """Requests that find nobody listening."""
    answer_lost: float = 0.0
    """Requests that are carried out, and whose answer is lost."""
    request_lost: float = 0.0
    """Requests that are not carried out, and never answered."""
    throttled: float = 0.0
    """Requests that are turned away with 429."""
    failing: float = 0.0
    """Requests that are answered with 500: half of them have been carried out."""
    conflicting: float = 0.0
    """Writes that are answered with a 409 of an optimistic lock."""
    watch_breaks: float = 0.0
    """Batches of a watch before which it breaks."""
    stream_breaks: float = 0.0
    """Messages of a stream before which it breaks."""


class Network:
    """Who can reach whom. ``rates`` hold for all messages; ``calm`` takes all faults back.

    ``leases_refused``: until when who may not write the Lease.
    """

    def __init__(self, queue: EventQueue, rates: Rates) -> None:
        self.queue = queue
        self.rates = rates
        self.leases_refused: dict[str, float] = {}
        self._cut: dict[frozenset[str], float] = {}
        self._held: list[tuple[str, str, Callable[[], None]]] = []
        self._broken: dict[frozenset[str], list[Callable[[], None]]] = {}

    def calm(self) -> None:
        """End all faults."""
        self.rates = Rates()
        self._cut.clear()
        self.leases_refused.clear()
        self._release()

    def carry(self, one: str, other: str, seconds: float, event: Callable[[], None]) -> None:
        """Have something arrive in ``seconds``; where nothing passes by then, once it does."""
        self.queue.after(seconds, lambda: self._arrive(one, other, event))

    def _arrive(self, one: str, other: str, event: Callable[[], None]) -> None:
        if self.queue.now < self.cut_until(one, other):
            self._held.append((one, other, event))
        else:
            event()

    def _release(self) -> None:
        """Let what was held up arrive, as far as the way is free."""
        held, self._held = self._held, []
        for one, other, event in held:
            self.carry(one, other, self.delay(), event)

    def delay(self) -> float:
        """Draw how long a message takes."""
        random = self.queue.random
        if self.rates.slow and random.random() < self.rates.slow:
            return random.random() * 2.0
        return self.rates.latency * (0.3 + 1.4 * random.random())

    def chance(self, share: float) -> bool:
        """Draw whether something happens."""
        return share > 0.0 and self.queue.random.random() < share

    def refuses_lease(self, client: str) -> bool:
        """Whether somebody may not write the Lease now."""
        return self.queue.now < self.leases_refused.get(client, 0.0)

    def cut(self, one: str, other: str, seconds: float, *, silently: bool) -> None:
        """Let nothing pass between two for a while: connections break at once, or nobody notices (``silently``)."""
        pair = frozenset((one, other))
        self._cut[pair] = max(self._cut.get(pair, 0.0), self.queue.now + seconds)
        self.queue.after(seconds, self._release)
        if not silently:
            self.reset(one, other)

    def reset(self, one: str, other: str) -> None:
        """Break the connections between two."""
        for notice in list(self._broken.get(frozenset((one, other)), ())):
            notice()

    def cut_until(self, one: str, other: str) -> float:
        """Return until when nothing passes between two; a time in the past if all does."""
        return self._cut.get(frozenset((one, other)), 0.0)

    def connect(self, one: str, other: str, broken: Callable[[], None]) -> Callable[[], None]:
        """Note a connection; ``broken`` is called when it breaks. Returns what ends it."""
        notices = self._broken.setdefault(frozenset((one, other)), [])
        notices.append(broken)
        return lambda: notices.remove(broken) if broken in notices else None
