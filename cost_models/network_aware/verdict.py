"""Judges machines for one task as the NetworkOverhead plugin does, by the tasks already placed: filter, cost, score.

    for each placed task, and each of the task's dependencies on its workload:
        same machine: satisfied, cost 0;  same zone: satisfied, cost 1
        else the cost between the zones, or the regions if these differ: satisfied up to maxNetworkCost, else violated;
        unknown: cost 100, neither; the other machine has neither region nor zone: cost 100, violated
    refused if violated > satisfied
    score = 100 - trunc(100 (cost - least) / (most - least)) over the machines that are not refused; all 100 if these
    cost the same, all 0 if that is 0

If no task of the application is placed, or the task has no dependencies, every machine passes with cost and score 0.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Assessment, Bool, Float64, Int64
from cost_models.pairs import PairTerms, PairVerdict, PlacedKinds


def judge_against_placed(terms: PairTerms, kind: int, placed: PlacedKinds) -> PairVerdict:
    """Judge all machines for a task of ``kind``."""
    machines = len(terms.domain)
    pairs = np.flatnonzero(terms.source == kind)
    groups = terms.group[placed.kind]
    if not len(pairs) or not (groups == terms.group[kind]).any():
        return indifferent(machines)
    total = np.zeros(machines)
    satisfied, violated = np.zeros((2, machines), dtype=np.int64)
    details: list[list[str]] = [[] for _ in range(machines)]
    for pair in pairs.tolist():
        cost, kept, exceeded, count = _of_pair(terms, pair, placed)
        total += cost
        satisfied += kept
        violated += exceeded
        text, limit = terms.names[int(terms.target[pair])], int(terms.limit[pair])
        for row, lines in enumerate(details):
            lines.append(
                f"{text}: {count} placed, cost {cost[row]:g}, {kept[row]} satisfied and {exceeded[row]} violated "
                f"by maxNetworkCost {limit}"
            )
    feasible = violated <= satisfied
    assessment = Assessment(
        raw=total[None, :],
        feasible=feasible[None, :],
        reason=terms.outvoted,
        score=normalise(total, feasible)[None, :],
    )
    return PairVerdict(assessment, tuple(tuple(lines) for lines in details))


def indifferent(machines: int) -> PairVerdict:
    """Return a verdict that admits every machine, with cost and score 0."""
    return PairVerdict(
        Assessment(raw=np.zeros((1, machines)), score=np.zeros((1, machines))),
        tuple(() for _ in range(machines)),
    )


def normalise(cost: Float64, feasible: Bool) -> Float64:
    """Return upstream's ``NormalizeScore``; machines that are refused score 0."""
    score = np.zeros(len(cost))
    if feasible.any():
        least, most = cost[feasible].min(), cost[feasible].max()
        if most > least:
            score[feasible] = 100.0 - np.trunc(100.0 * (cost[feasible] - least) / (most - least))
        elif most != 0:
            score[feasible] = 100.0
    return score


def _of_pair(terms: PairTerms, pair: int, placed: PlacedKinds) -> tuple[Float64, Int64, Int64, int]:
    """Return each machine's cost, satisfied and violated dependencies, and how many targets are placed."""
    where = placed.machine[placed.kind == terms.target[pair]]
    per_domain = np.bincount(terms.domain[where], minlength=terms.domains)
    here = np.bincount(where, minlength=len(terms.domain))
    own = np.diag_indices(terms.domains)
    keeps, exceeds = (
        terms.find_keeping(float(terms.limit[pair])),
        terms.find_exceeding(float(terms.limit[pair])),
    )
    at = terms.domain
    cost = (terms.cost @ per_domain)[at] - here * terms.cost[own][at]
    kept = (keeps.astype(np.int64) @ per_domain)[at] + here * (1 - keeps[own].astype(np.int64)[at])
    exceeded = (exceeds.astype(np.int64) @ per_domain)[at] - here * exceeds[own].astype(np.int64)[at]
    return cost, kept, exceeded, len(where)
