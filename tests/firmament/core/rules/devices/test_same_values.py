"""Devices of two requests with the same values of an attribute: against trying every choice."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.firmament.core.rules.devices.allocation.test_search import Bench
from tests.support.devices import device, slice_spec
from tests.support.effort import examples

SWITCH = "gpu.example.com/switch"


def asked(gpus: int, cards: range, *, anyhow: bool):
    def request(count: int, kind: str):
        expression = f'device.attributes["gpu.example.com"].kind == "{kind}"'
        return {"deviceClassName": "gpu", "count": count, "selectors": [{"cel": {"expression": expression}}]}

    options = [{"name": f"near{count}", **request(count, "card")} for count in cards]
    named = [f"card/{each['name']}" for each in options]
    options += [{"name": "any", **request(cards.start, "card")}] if anyhow else []
    return {
        "devices": {
            "requests": [
                {"name": "gpu", "exactly": request(gpus, "gpu")},
                {"name": "card", "firstAvailable": options},
            ],
            "constraints": [{"sameValues": SWITCH, "requests": ["gpu"], "others": named}],
        }
    }


def list_pairs(switches, gpus: int, counts: range):
    """Every choice of GPUs and cards that has cards on just the switches of the GPUs."""
    own = [each for each in switches if each[0] == "gpu" and each[1]]
    cards = [each for each in switches if each[0] == "card" and each[1]]
    for chosen in combinations(own, gpus):
        for count in counts:
            for beside in combinations(cards, count):
                if {each[1] for each in chosen} == {each[1] for each in beside}:
                    yield chosen, beside


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["gpu", "card"]), st.sampled_from(["", "a", "b", "c"])), max_size=9),
    st.integers(1, 3),
    st.integers(1, 2),
    st.booleans(),
)
def test_cards_are_on_just_the_switches_of_the_gpus(kinds, gpus, cards, anyhow):
    devices = [
        device(f"{kind}-{place}", attributes={"kind": kind, **({"switch": switch} if switch else {})})
        for place, (kind, switch) in enumerate(kinds)
    ]
    bench = Bench([slice_spec("a", devices)] if devices else [])
    counts = range(cards, max(cards, gpus) + 1)
    found = bench.name(asked(gpus, counts, anyhow=anyhow))
    possible = any(True for _ in list_pairs(kinds, gpus, counts))
    if found is None:
        assert not possible
        return
    [results] = found
    chosen: dict[str, list[tuple[str, str]]] = {"gpu": [], "card": []}
    for request, _, name in results:
        chosen[request.partition("/")[0]].append(kinds[int(name.partition("-")[2])])
    assert [kind for kind, _ in chosen["gpu"]] == ["gpu"] * gpus
    assert {kind for kind, _ in chosen["card"]} == {"card"}
    same = {each for _, each in chosen["gpu"]} == {each for _, each in chosen["card"]}
    assert same or anyhow
    assert possible or anyhow
