"""Which labels divide machines more coarsely than others: whole racks make up a zone."""

from __future__ import annotations

from firmament.core.label_levels import LabelLevels

ZONE = "topology.kubernetes.io/zone"


def racks(*places: tuple[str, ...]) -> LabelLevels:
    """Machines by rack, block and zone, each of a kind of its own."""
    return LabelLevels(
        {"host": f"h{index}", "rack": rack, "block": block, ZONE: zone, "kubernetes.io/arch": arch}
        for index, (rack, block, zone, arch) in enumerate(places)
    )


def test_the_nearest_level_comes_first():
    levels = racks(*((f"r{i}", f"b{i // 2}", f"z{i // 4}", "amd64") for i in range(8)))
    assert levels.find_coarser("rack") == ("block", ZONE)
    assert levels.find_coarser(ZONE) == ()
    assert levels.find_finer(ZONE) == ("block", "rack", "host")
    assert levels.find_coarser("unknown") == levels.find_finer("unknown") == ()


def test_what_cuts_across_is_no_level():
    levels = racks(("r1", "b1", "z1", "a"), ("r1", "b2", "z1", "b"), ("r2", "b3", "z2", "b"))
    assert levels.find_coarser("rack") == ()
    assert levels.find_coarser("block") == ("rack", ZONE)


def test_one_value_for_all_says_something_only_of_places():
    levels = racks(("r1", "b1", "z1", "a"), ("r2", "b1", "z1", "a"))
    assert levels.find_coarser("rack") == (ZONE,)


def test_a_level_covers_every_machine_of_the_finer_one():
    machines = [{"rack": "r1", "zone": "z1"}, {"rack": "r2", "zone": "z1"}, {"rack": "r3"}]
    assert LabelLevels(machines).find_coarser("rack") == ()
    assert LabelLevels(machines[:2]).find_coarser("rack") == ("zone",)
