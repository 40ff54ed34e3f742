"""Polls a Prometheus server with the configured queries, and makes readings from the answers."""

from __future__ import annotations

import asyncio
import math
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from poseidon.kube.api.decoding import MalformedObjectError, decode_object
from poseidon.kube.api.other_projects.metrics import QueryAnswer, QueryData, Series
from poseidon.kube.client.credentials import HeaderCredentials
from poseidon.kube.client.errors import SettingsError, UnreachableError
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.parsing.quantities import MAX_AMOUNT
from poseidon.metrics_sources.intake import Fault, Intake
from poseidon.metrics_sources.readings import Amounts, NodeReading, PodReading, Window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from poseidon.kube.client.transport import Transport
    from poseidon.metrics_sources.options import PrometheusOptions, PrometheusQuery

_PATH = "/api/v1/query"


class PrometheusSource:
    """The source that sends all queries at each ``poll``.

    If a query fails, the poll fails, so that no reading mixes old and new values.
    """

    def __init__(self, transport: Transport, intake: Intake, options: PrometheusOptions) -> None:
        self._transport = transport
        self._intake = intake
        self._options = options

    async def poll(self) -> None:
        """Send all queries once and add the readings to the intake; raise ``KubeError`` if that fails."""
        queries = self._options.queries
        answers = await asyncio.gather(*(_ask(self._transport, each.query) for each in queries))
        gathering = Gathering(self._options, self._intake.view.node_of)
        for query, answer in zip(queries, answers, strict=True):
            gathering.add(query, answer)
        for reading in gathering.readings():
            self._intake.add_reading(reading, gathering.faults.pop(reading.node, ()))
        for name, faults in gathering.faults.items():
            self._intake.report(name, faults)
        self._intake.forget_gone_nodes()


def connection(options: PrometheusOptions) -> ConnectionSettings:
    """Return the settings of a connection to the server; raise ``SettingsError`` for a file that cannot be used."""
    tls = None
    if options.url.startswith("https://"):
        try:
            tls = ssl.create_default_context(cafile=options.ca_file or None)
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(
                f"utilisation.prometheus.caFile: {options.ca_file}: cannot be used: {error}"
            ) from error
    token = Path(options.token_file)
    return ConnectionSettings(
        server=options.url.rstrip("/"),
        tls=tls,
        credentials=HeaderCredentials(lambda: f"Bearer {token.read_text(encoding='utf-8').strip()}")
        if options.token_file
        else None,
    )


async def _ask(transport: Transport, query: str) -> QueryData:
    """Return the answer to a query; raise ``KubeError`` unless the answer is an instant vector."""
    raw = await transport.get(_PATH, {"query": query})
    try:
        answer = decode_object(raw, QueryAnswer)
    except MalformedObjectError as error:
        raise UnreachableError(
            f"GET {_PATH}: the answer to {query!r} is not that of a query: {error}"
        ) from error
    if answer.status != "success" or answer.data.result_type != "vector":
        found = (
            answer.error or f"the result is a {answer.data.result_type or 'nothing'}, not an instant vector"
        )
        raise UnreachableError(f"GET {_PATH}: {query!r}: {found}")
    return answer.data


class Gathering:
    """The elements of several answers, which are combined into readings of nodes.

    ``node_of`` returns the node of a pod (namespace, name), "" for none. Elements whose node is unknown are left out.
    """

    def __init__(self, options: PrometheusOptions, node_of: Callable[[str, str], str]) -> None:
        self._options = options
        self._node_of = node_of
        self._times: dict[str, float] = {}
        self._usage: dict[str, Amounts] = {}
        self._windows: dict[tuple[str, str, float], Amounts] = {}
        self._pods: dict[tuple[str, str], Amounts] = {}
        self.faults: dict[str, list[Fault]] = {}

    def add(self, query: PrometheusQuery, answer: QueryData) -> None:
        """Take in what Prometheus has answered to a query."""
        for series in answer.result:
            labels = series.metric
            if query.of == "pods":
                pod = (labels.get(self._options.namespace_label, ""), labels.get(self._options.pod_label, ""))
                found = self._value(query, series, "/".join(pod))
                if found is not None and all(pod):
                    self._pods.setdefault(pod, {})[query.resource] = found[1]
                continue
            node = labels.get(self._options.node_label, "")
            found = self._value(query, series, node) if node else None
            if found is None:
                continue
            time, used = found
            if query.statistic is not None and query.window is not None:
                self._windows.setdefault((node, query.statistic, query.window), {})[query.resource] = used
            else:
                self._usage.setdefault(node, {})[query.resource] = used
                # The time of a reading is that of its oldest part.
                self._times[node] = min(time, self._times.get(node, time))

    def readings(self) -> Iterator[NodeReading]:
        """Yield a reading for each node whose present use is known."""
        windows: dict[str, list[Window]] = {}
        for (node, statistic, seconds), used in self._windows.items():
            windows.setdefault(node, []).append(Window(statistic, seconds, used))
        pods: dict[str, list[PodReading]] = {}
        for (namespace, name), used in self._pods.items():
            pods.setdefault(self._node_of(namespace, name), []).append(PodReading(namespace, name, used))
        asks_pods = any(query.of == "pods" for query in self._options.queries)
        for node, usage in self._usage.items():
            yield NodeReading(
                node=node,
                time=self._times[node],
                interval=self._options.interval,
                usage=usage,
                windows=tuple(windows.get(node, ())),
                aggregates=any(query.statistic for query in self._options.queries),
                pods=tuple(pods.get(node, ())) if asks_pods else None,
            )

    def _value(self, query: PrometheusQuery, series: Series, name: str) -> tuple[float, int] | None:
        """Return the time and amount of an element; add a fault and return None if the value is no amount."""
        if series.value is None:
            return None
        time, text = series.value
        try:
            value = float(text) * (1000 if query.resource == "cpu" else 1)
        except ValueError:
            value = math.nan
        kind = "nan" if math.isnan(value) else "negative" if value < 0 else "quantity"
        if not 0 <= value <= MAX_AMOUNT or not 0 <= time < math.inf:
            field = f"{query.resource} {query.statistic or ''}".strip()
            fault = Fault(kind, field, f"the query answers {text!r}, which is no amount; it is left out")
            self.faults.setdefault(name, []).append(fault)
            return None
        # Rounding to six decimals first keeps the float's last digits from being rounded up to a whole unit.
        return time, math.ceil(round(value, 6))
