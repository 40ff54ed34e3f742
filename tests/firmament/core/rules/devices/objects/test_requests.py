"""What claims and device classes state, read field by field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from firmament.core.rules.devices.objects.inventory import BadDevicesError
from firmament.core.rules.devices.objects.requests import (
    AttributeConstraint,
    ClaimSpec,
    DeviceTerms,
    Option,
    read_claim,
    read_class,
    tolerates,
)

GPU = DeviceTerms("gpu", ("c",))
CLASSES = {"gpu": GPU, "nic": DeviceTerms("nic", ())}


def exact(**more: Any) -> dict[str, Any]:
    return {"name": "r", "exactly": {"deviceClassName": "gpu", **more}}


def claim(*requests: dict[str, Any], off: frozenset[str] = frozenset(), **devices: Any) -> ClaimSpec:
    return read_claim({"devices": {"requests": list(requests), **devices}}, CLASSES, off)


def option(**more: Any) -> Option:
    (request,) = claim(exact(**more)).requests
    (found,) = request.options
    return found


class TestClasses:
    def test_expressions_and_configurations(self):
        payload = json.dumps(
            {
                "selectors": [{"cel": {"expression": "a"}}, {"cel": {"expression": "b"}}],
                "config": [{"z": 1, "a": 2}],
            }
        ).encode()
        found = read_class("gpu", payload)
        assert (found.name, found.expressions, found.configurations) == (
            "gpu",
            ("a", "b"),
            ('{"a": 2, "z": 1}',),
        )
        empty = read_class("gpu", b"{}")
        assert (empty.expressions, empty.configurations) == ((), ())

    @pytest.mark.parametrize("payload", [b"{", b"[]", b'{"selectors": [1]}', b"null", b'{"config": 3}'])
    def test_what_is_none_is_named(self, payload: bytes):
        with pytest.raises(BadDevicesError, match=r"^device class gpu: it is no DeviceClass \("):
            read_class("gpu", payload)

    def test_a_selector_must_have_an_expression(self):
        with pytest.raises(BadDevicesError, match=r"^a selector has no CEL expression"):
            read_class("gpu", b'{"selectors": [{"other": {}}]}')


class TestOptions:
    def test_defaults(self):
        found = option()
        assert found.device_class is GPU
        assert (found.name, found.expressions, found.count, found.admin) == ("r", (), 1, False)
        assert (found.tolerated, found.tolerations_text, found.capacity, found.order) == ((), "", (), "")

    @pytest.mark.parametrize(
        ("stated", "count"),
        [
            ({"count": 3}, 3),
            ({"count": 0}, 1),
            ({"count": None}, 1),
            ({"allocationMode": "ExactCount", "count": 2}, 2),
            ({"allocationMode": "All"}, 0),
            ({"allocationMode": "All", "count": 5}, 0),
        ],
    )
    def test_counts(self, stated: dict[str, Any], count: int):
        assert option(**stated).count == count

    def test_all_that_is_stated(self):
        found = option(
            selectors=[{"cel": {"expression": "x"}}],
            adminAccess=True,
            tolerations=[{"key": "k", "operator": "Exists", "effect": "NoSchedule"}, {"value": "v"}],
            capacity={"requests": {"memory": "2Ki", "cores": "1500m"}},
            order="spread",
        )
        assert (found.expressions, found.admin) == (("x",), True)
        assert found.tolerated == (("k", "Exists", "", "NoSchedule"), ("", "Equal", "v", ""))
        assert json.loads(found.tolerations_text) == [
            {"effect": "NoSchedule", "key": "k", "operator": "Exists"}, {"value": "v"},
        ]  # fmt: skip
        assert [(name, float(amount)) for name, amount in found.capacity] == [
            ("cores", 1.5),
            ("memory", 2048.0),
        ]
        assert found.order == "spread"
        assert option(order="binpack").order == "binpack"
        assert option(order="sideways").order == ""

    def test_options_of_a_list_come_in_its_order(self):
        listed = [
            {"name": "a", "deviceClassName": "nic"},
            {"name": "b", "deviceClassName": "gpu", "count": 2},
        ]
        (request,) = claim({"name": "r", "firstAvailable": listed}).requests
        assert request.name == "r"
        assert [(each.name, each.device_class.name, each.count) for each in request.options] == [
            ("r/a", "nic", 1), ("r/b", "gpu", 2),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("request_of", "words"),
        [
            ({"name": "r"}, "request r: it has neither exactly nor firstAvailable"),
            ({"name": "r", "exactly": {}}, "request r: missing device class name"),
            ({"name": "r", "exactly": {"deviceClassName": "x"}}, "request r: device class x does not exist"),
            (exact(allocationMode="Some"), "request r: unsupported allocation mode Some"),
            (exact(count=-1), "request r: count -1 is negative"),
            (exact(capacity={"requests": {"m": "many"}}), "'many' is no quantity"),
            ({"exactly": {}}, "the claim's spec cannot be read (KeyError: 'name')"),
            (exact(count="x"), "the claim's spec cannot be read (ValueError: "),
        ],
    )
    def test_what_cannot_be_asked_for_is_named(self, request_of: dict[str, Any], words: str):
        with pytest.raises(BadDevicesError) as refused:
            claim(request_of)
        assert str(refused.value).startswith(words)

    @pytest.mark.parametrize(
        ("counts", "total"), [((32,), None), ((33,), 33), ((16, 16), None), ((16, 17), 33), ((0, 32), None)]
    )
    def test_a_claim_gets_at_most_32_devices(self, counts: tuple[int, ...], total: int | None):
        requests = [exact(count=count) if count else exact(allocationMode="All") for count in counts]
        if total is None:
            assert len(claim(*requests).requests) == len(counts)
            return
        with pytest.raises(
            BadDevicesError, match=rf"^the claim asks for {total} devices; at most 32 are possible"
        ):
            claim(*requests)

    def test_of_a_list_the_least_count_decides(self):
        listed = [{"name": str(n), "deviceClassName": "gpu", "count": n} for n in (40, 32)]
        assert claim({"name": "r", "firstAvailable": listed}).requests
        with pytest.raises(BadDevicesError, match="asks for 33"):
            claim({"name": "r", "firstAvailable": listed}, exact(count=1))


class TestClaims:
    def test_a_claim_may_ask_for_nothing(self):
        for spec in ({}, {"devices": None}, {"devices": {"requests": None}}):
            found = read_claim(spec, CLASSES)
            assert (found.requests, found.constraints, found.configurations) == ((), (), ())
            assert found.expressions == frozenset()

    def test_expressions_of_all_options_and_classes(self):
        listed = [
            {"name": "a", "deviceClassName": "gpu", "selectors": [{"cel": {"expression": "y"}}]},
            {"name": "b", "deviceClassName": "nic"},
        ]
        found = claim(
            {"name": "l", "firstAvailable": listed}, exact(selectors=[{"cel": {"expression": "x"}}])
        )
        assert found.expressions == {"c", "x", "y"}

    def test_configurations_are_for_requests(self):
        found = claim(exact(), config=[{"requests": ["r"], "opaque": {"b": 1, "a": 2}}, {"opaque": 3}])
        assert found.configurations == ((("r",), '{"opaque": {"a": 2, "b": 1}}'), ((), '{"opaque": 3}'))

    @pytest.mark.parametrize(
        ("stated", "expected"),
        [
            ({"matchAttribute": "a/b"}, AttributeConstraint("a/b", False, ())),
            (
                {"matchAttribute": "a/b", "requests": ["r", "s"]},
                AttributeConstraint("a/b", False, ("r", "s")),
            ),
            ({"distinctAttribute": "a/b"}, AttributeConstraint("a/b", True, ())),
            (
                {"sameValues": "a/b", "requests": ["r"], "others": ["s"]},
                AttributeConstraint("a/b", False, ("r",), True, ("s",)),
            ),
        ],
    )
    def test_constraints(self, stated: dict[str, Any], expected: AttributeConstraint):
        assert claim(constraints=[stated]).constraints == (expected,)

    def test_lists_count_unless_they_are_off(self):
        off = frozenset({"DRAListTypeAttributes"})
        for kind in ("matchAttribute", "distinctAttribute"):
            assert claim(constraints=[{kind: "a"}]).constraints[0].lists
            assert not claim(constraints=[{kind: "a"}], off=off).constraints[0].lists

    def test_an_empty_constraint_is_refused(self):
        with pytest.raises(BadDevicesError, match="a constraint is empty"):
            claim(constraints=[{"requests": ["r"]}])

    def test_a_feature_that_is_off_is_refused(self):
        with pytest.raises(BadDevicesError, match="admin access is requested, but the feature is disabled"):
            claim(exact(adminAccess=True), off=frozenset({"DRAAdminAccess"}))


def test_a_constraint_covers_requests_and_their_subrequests():
    some = AttributeConstraint("a", False, ("r", "s/x"), others=("o",))
    covered = {name: some.covers(name) for name in ("r", "r/y", "s/x", "s/y", "s", "o", "o/z", "t", "")}
    assert covered == {
        "r": True, "r/y": True, "s/x": True, "s/y": False, "s": False, "o": True, "o/z": True, "t": False, "": False,
    }  # fmt: skip
    assert [some.is_other(name) for name in ("o", "o/z", "r")] == [True, True, False]
    every = AttributeConstraint("a", False, ())
    assert (every.covers("anything"), every.is_other("anything")) == (True, False)


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (("k", "Equal", "v", "NoSchedule"), True),
        (("k", "Equal", "v", ""), True),
        (("", "Equal", "v", ""), True),
        (("", "Exists", "", ""), True),
        (("k", "Exists", "other", "NoSchedule"), True),
        (("k", "Equal", "other", ""), False),
        (("j", "Equal", "v", ""), False),
        (("j", "Exists", "", ""), False),
        (("k", "Exists", "", "NoExecute"), False),
        (("k", "In", "v", ""), False),
    ],
)
def test_tolerations(toleration: tuple[str, str, str, str], expected: bool):
    taint = ("k", "v", "NoSchedule")
    assert tolerates((toleration,), taint) is expected
    assert tolerates((("x", "Equal", "", ""), toleration), taint) is expected
    assert not tolerates((), taint)
