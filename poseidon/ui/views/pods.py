"""Shows lists of pods, part by part, and a single pod in full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from poseidon.explanations import describe_outcome, plain
from poseidon.ui.cluster.records import BOUND, ENDED, GATED, GONE, PENDING
from poseidon.ui.single_file import describe_file_session, single_file
from poseidon.ui.views.amounts import amount_text, in_order
from poseidon.ui.views.blocking_pods import list_pods_in_the_way
from poseidon.ui.views.claims import show_claims
from poseidon.ui.views.flow.arcs import price_of
from poseidon.ui.views.pending import reason_key

if TYPE_CHECKING:
    from poseidon.explanations import PodExplanation, Verdict
    from poseidon.ui.cluster.records import PodEntry
    from poseidon.ui.cluster.store import ClusterStore
    from poseidon.ui.page_data import Known
    from protos.firmament.v1 import scheduler_pb2 as pb

_CHEAPEST = 50
_EXAMPLES = 5
_MOST_REFUSALS = 50


class PodQuery(NamedTuple):
    """A query for pods; a field that is "" allows any value. ``text`` is a part of the pod's name."""

    phase: str = ""
    node: str = ""
    namespace: str = ""
    reason: str = ""
    task_class: str = ""
    text: str = ""


def show_pods(store: ClusterStore, query: PodQuery, offset: int, limit: int) -> dict[str, Any]:
    """Return pods, sorted by name, as the documented JSON object; deleted pods are sorted by time, the latest first."""
    found = _filter_pods(_candidates(store, query), query)
    return {"total": len(found), "items": [_item(each) for each in found[offset : offset + limit]]}


def _candidates(store: ClusterStore, query: PodQuery) -> list[PodEntry]:
    if query.phase == GONE:
        return list(reversed(store.gone.values()))
    if query.phase == PENDING:
        return sorted(store.waiting.values(), key=lambda each: each.name)
    if query.node:
        entry = store.nodes.get(query.node)
        return sorted(store.on_node(entry), key=lambda each: each.name) if entry is not None else []
    return store.list_pods()


def _filter_pods(found: list[PodEntry], query: PodQuery) -> list[PodEntry]:
    """Return the pods that meet a query.

    Each condition is checked in a separate loop, which is faster for many pods.
    """
    if query.phase == BOUND:
        found = [each for each in found if each.phase == BOUND]
    if query.node:
        found = [each for each in found if each.node == query.node]
    if query.namespace:
        prefix = f"{query.namespace}/"
        found = [each for each in found if each.name.startswith(prefix)]
    if query.task_class:
        found = [each for each in found if each.task_class == query.task_class]
    if query.text:
        text = query.text.lower()
        found = [each for each in found if text in each.name.lower()]
    if query.reason:
        found = [each for each in found if reason_key(each.reason) == query.reason]
    return found


def _item(each: PodEntry) -> dict[str, Any]:
    return {
        "name": each.name,
        "phase": phase_of(each),
        "node": each.node,
        "created": each.created,
        "since": each.gone or each.since,
        "reason": reason_key(each.reason),
        "class": each.task_class,
    }


def phase_of(record: PodEntry) -> str:
    """Return the phase of a pod, in the words that the dashboard's API uses."""
    return GONE if record.gone else record.phase


def show_pod(
    known: Known, record: PodEntry, found: Mapping[str, Verdict] | None, problem: str | None
) -> dict[str, Any]:
    """Return a pod as the JSON object that the documents describe.

    ``found`` has the verdict on each node; ``problem`` says why there are no verdicts.
    """
    flow = known.rounds.flow(0)
    group = record.group
    return {
        "pod": record.name,
        "phase": phase_of(record),
        "node": record.node,
        "created": record.created,
        "since": record.gone or record.since,
        "priority": record.priority,
        "class": record.task_class,
        "group": group.name if group is not None else None,
        "requests": {
            name: amount_text(name, record.requests[name])
            for name in in_order(record.requests)
            if name != "pods"
        },
        "selectors": list(record.rules.selectors),
        "tolerations": list(record.rules.tolerations),
        "claims": show_claims(known, record),
        "reason": record.reason,
        "story": list_story(record),
        "verdicts": None if found is None else _verdicts(found, record.node or record.nominated),
        "verdictsError": problem,
        "price": _price(record, flow, found),
        "room": list_pods_in_the_way(known, record, found, flow) if record.waits and found else [],
        "outlook": list(_outlook(record)),
    }


def list_story(record: PodEntry) -> list[dict[str, Any]]:
    """Return the history of a pod as its object shows it, oldest event first."""
    steps = [(record.created, "created")]
    steps += [(at, text) for at, text in record.said]
    if record.node:
        steps.append((record.scheduled or record.since, f"bound to node {record.node}"))
    if record.started:
        steps.append((record.started, "started"))
    if record.disruption is not None:
        steps.append(
            (record.disruption.at, f"has to leave: {record.disruption.message or record.disruption.reason}")
        )
    if record.moves_to:
        steps.append((record.deleted or record.since, f"its replacement is meant for node {record.moves_to}"))
    if record.deleted:
        steps.append((record.deleted, "is being deleted"))
    if record.phase == ENDED:
        steps.append((record.since, f"ended: {record.reason}" if record.reason else "ended"))
    if record.gone:
        steps.append((record.gone, "gone"))
    return [{"at": at, "what": what} for at, what in sorted(steps, key=lambda each: each[0])]


def _outlook(record: PodEntry) -> Iterable[str]:
    if not record.waits:
        return
    if record.nominated:
        yield f"It is to get node {record.nominated}, once others have left it."
    if record.phase == GATED:
        yield "No scheduler places the pod before its scheduling gates are removed."


def draw_explanation(explanation: PodExplanation, at: float) -> dict[str, Any]:
    """Return the JSON object of ``show_pod`` for an explanation: it has the verdicts, but not the pod's history."""
    return {
        "at": at,
        "version": 1,
        "pod": explanation.pod,
        "phase": BOUND if explanation.node else PENDING,
        "node": explanation.node,
        "created": None,
        "since": None,
        "priority": None,
        "class": "",
        "group": None,
        "requests": None,
        "selectors": [],
        "tolerations": [],
        "claims": [],
        "reason": " ".join(describe_outcome(explanation)),
        "story": [],
        "verdicts": _verdicts(explanation.nodes, explanation.chosen) if explanation.nodes else None,
        "verdictsError": None
        if explanation.nodes
        else "There are no nodes, or the solver does not know the pod.",
        "price": None,
        "room": [],
        "outlook": [*explanation.outlook, *(each.text for each in explanation.cures)],
    }


def single_page(explanation: PodExplanation, at: float) -> str:
    """Return the explanation of a pod as one web page that needs no server and can be sent."""
    path = "/".join(quote(each, safe="") for each in ("pods", *explanation.pod.split("/", 1)))
    session = describe_file_session("manifests", "explain", at, explanation.warnings)
    return single_file(
        explanation.pod, f"#/{path}", {"session": session, path: draw_explanation(explanation, at)}
    )


def _verdicts(found: Mapping[str, Verdict], chosen: str) -> dict[str, Any]:
    feasible = sorted(
        ((each.cost, name) for name, each in found.items() if each.feasible), key=lambda each: each
    )
    refused: dict[tuple[str, ...], list[str]] = {}
    for name, each in found.items():
        if not each.feasible:
            refused.setdefault(each.reasons, []).append(name)
    ordered = sorted(refused.items(), key=lambda item: (-len(item[1]), item[0]))
    models = dict.fromkeys(name for each in found.values() for name in each.models)
    return {
        "feasible": len(feasible),
        "refused": len(found) - len(feasible),
        "models": list(models),
        "nodes": [_node(name, found[name], chosen) for _, name in feasible[:_CHEAPEST]],
        "refusals": [
            {"reasons": list(reasons), "nodes": len(names), "examples": list(islice(names, _EXAMPLES))}
            for reasons, names in ordered[:_MOST_REFUSALS]
        ],
    }


def _node(name: str, each: Verdict, chosen: str) -> dict[str, Any]:
    return {
        "node": name,
        "cost": plain(each.cost),
        "models": {
            model: {
                "cost": plain(charge.cost),
                "raw": plain(charge.raw),
                "score": None if charge.score is None else plain(charge.score),
            }
            for model, charge in each.models.items()
        },
        "chosen": name == chosen,
    }


def _price(
    record: PodEntry, flow: pb.RoundFlow | None, found: Mapping[str, Verdict] | None
) -> dict[str, Any] | None:
    """Return what a round's network charged for placing a pod, or None if the round did not place it."""
    price = price_of(flow, record.uid) if flow is not None else None
    if flow is None or price is None:
        return None
    return {
        "round": flow.round,
        "node": price.machine,
        "cost": plain(price.cost),
        "machinePrice": plain(price.machine_price),
        "total": plain(price.cost + price.machine_price),
        "dearer": _dearer(flow, price.machine, found),
        "models": {name: plain(each) for name, each in price.models.items()},
    }


def _dearer(flow: pb.RoundFlow, node: str, found: Mapping[str, Verdict] | None) -> float | None:
    """Return by how much the next best node would cost more, from present verdicts and the prices of the round."""
    if found is None or node not in found:
        return None
    prices = dict(zip(flow.machines, flow.machine_price, strict=True))
    others = [
        each.cost + prices.get(name, 0.0) for name, each in found.items() if each.feasible and name != node
    ]
    if not others:
        return None
    return plain(min(others) - found[node].cost - prices.get(node, 0.0))
