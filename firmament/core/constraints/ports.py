"""Compiles host ports: a port on all addresses excludes every user of it, one on an address excludes equals.

As ``HostPortInfo.CheckConflict`` of kube-scheduler.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from firmament.core.constraints.rule_counters import RuleCounters
from firmament.core.rules.ruleset import PORTS_TAKEN, Exclusion
from firmament.core.state.classes import ClassRow
from firmament.core.state.domains import Domains


def port_exclusions(
    counters: RuleCounters,
    machines: Domains,
    rows: Sequence[ClassRow],
    ruled: Sequence[int],
    waiting: Collection[int],
) -> Iterator[tuple[int, Exclusion]]:
    """Yield what ports exclude, by the row of each class in ``waiting`` that asks for one.

    ``machines``: every machine by itself; ``rows``: the class table; ``ruled``: those rows that may have ports.
    Ports that the same classes use exclude the same: one counter does for all of them.
    """
    found: set[tuple[tuple[int, ...], int]] = set()
    for by_ip in _users(rows, ruled).values():
        everyone = tuple(sorted({row for users in by_ip.values() for row in users}))
        if waiting_ones := [row for row in everyone if row in waiting]:
            for ip, users in by_ip.items():
                against = [everyone] if not ip else [tuple(users), tuple(by_ip.get("", ()))]
                among = set(users)
                found.update(
                    (others, row) for others in against if others for row in waiting_ones if row in among
                )
    for others, row in sorted(found):
        number = counters.counter(("ports", others), others, machines, machines.domain)
        yield row, Exclusion(number, PORTS_TAKEN)


def _users(rows: Sequence[ClassRow], ruled: Sequence[int]) -> dict[tuple[str, int], dict[str, list[int]]]:
    """Rows of the classes that use a port, by protocol and port, and by address."""
    users: dict[tuple[str, int], dict[str, list[int]]] = {}
    for row in ruled:
        for port in rows[row].content.ports:
            users.setdefault((port.protocol, port.port), {}).setdefault(port.ip, []).append(row)
    return users
