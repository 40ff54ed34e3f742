"""Says why quotas allow no further task on some machines."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool
from firmament.core.constraints.quota_terms import Draw
from firmament.core.constraints.remaining_quota import RemainingQuota
from firmament.core.reasons import AnyReason, by_limit


def list_quota_refusals(room: RemainingQuota, shape: int) -> list[tuple[AnyReason, Bool]]:
    """Return reasons, each with the machines on which quotas allow no further task of a shape."""
    number = int(room.terms.draw[shape])
    if number < 0:
        return []
    draw = room.terms.draws[number]
    if draw.refused:
        return [(by_limit(draw.refused), np.ones(len(room.terms.kind), dtype=np.bool_))]
    of_kinds: dict[str, list[int]] = {}
    for kind in np.flatnonzero(room.units_by_kind(number) <= 0).tolist():
        of_kinds.setdefault(_explain(room, draw, kind), []).append(kind)
    return [(by_limit(why), np.isin(room.terms.kind, kinds)) for why, kinds in of_kinds.items()]


def _explain(room: RemainingQuota, draw: Draw, kind: int) -> str:
    """Return why quotas allow no further task of a draw on a kind of machines: the first lack found."""
    queue = room.terms.names[draw.node]
    for group in draw.groups:
        open_to = [place for place, flavor in enumerate(group.flavors) if room.terms.covers[kind, flavor]]
        if not open_to:
            return f"quota: node(s) of no flavor of {queue}"
        if any(room.units_in(draw, group, place) > 0 for place in open_to):
            continue
        place = open_to[0]
        for column, amount in zip(group.columns[place], group.amounts, strict=True):
            if room.use.get_left(draw.node, column) < amount:
                return _explain_lack(room, draw.node, column, amount)
    return f"quota: {queue} has nothing left"


def _explain_lack(room: RemainingQuota, node: int, column: int, amount: int) -> str:
    """Return a reason that names the quota on the path to the root that has too little left."""
    terms, use = room.terms, room.use
    flavor, resource = terms.columns[column]
    lacks = f"quota: {terms.names[node]} has not enough {resource} left of flavor {flavor}"
    for each in use.list_path(node):
        if terms.tree.limit.item(each, column) - use.total.item(each, column) < amount:
            return f"{lacks} (limit of {terms.names[each]})"
    root = use.list_path(node)[-1]
    if root == node:
        return lacks
    passed = amount
    for each in use.list_path(node)[:-1]:
        local, used = terms.tree.local.item(each, column), use.used.item(each, column)
        passed -= min(passed, max(local - used, 0))
        beyond = terms.tree.subtree.item(each, column) - max(used, local)
        if beyond + terms.tree.borrowing.item(each, column) < passed:
            return f"{lacks} (most that {terms.names[each]} may borrow)"
    return f"{lacks} (nor has {terms.names[root]})"
