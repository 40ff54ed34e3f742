"""Polls a Prometheus server with the configured queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.metrics_sources.prometheus.queries import Gathering, ask

if TYPE_CHECKING:
    from poseidon.kube.client.transport import Transport
    from poseidon.metrics_sources.intake import Intake
    from poseidon.metrics_sources.options import PrometheusOptions


class PrometheusSource:
    """Asks all queries at each ``poll``; one that fails fails the poll, so that no reading is half new."""

    def __init__(self, transport: Transport, intake: Intake, options: PrometheusOptions) -> None:
        self._transport = transport
        self._intake = intake
        self._options = options

    async def poll(self) -> None:
        """Ask once. Raises ``KubeError``."""
        answers = await ask(self._transport, self._options.queries)
        gathering = Gathering(self._options, self._intake.view.node_of)
        for query, answer in zip(self._options.queries, answers, strict=True):
            gathering.add(query, answer)
        for reading in gathering.readings():
            self._intake.take(reading, gathering.faults.pop(reading.node, ()))
        for name, faults in gathering.faults.items():
            self._intake.report(name, faults)
        self._intake.forget_gone_nodes()
