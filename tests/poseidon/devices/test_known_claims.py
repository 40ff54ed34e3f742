"""Claims by name: of the API server, and those that are created only once they get devices."""

from __future__ import annotations

from poseidon.devices.known_claims import KnownClaims
from tests.poseidon.devices.objects import allocation, claim

KEY = "default/c"
REPORT: tuple[str, dict] = ("/path", {"status": {}})


def expected():
    return claim("c", uid="").__class__(claim("c").metadata.__class__(name="c", namespace="default"))


def test_an_older_version_of_the_same_claim_is_not_taken():
    book = KnownClaims()
    assert book.put("u", claim("c", version="5")) == KEY
    assert book.put("u", claim("c", version="4", given=allocation("a"))) == ""
    assert (found := book.get(KEY)) is not None
    assert found.allocation == ""
    assert book.put("u", claim("c", version="5", given=allocation("a"))) == KEY
    assert (found := book.get(KEY)) is not None
    assert found.allocation
    assert KEY in book
    assert "default/other" not in book


def test_another_claim_of_the_name_is_taken_whatever_its_version():
    book = KnownClaims()
    book.put("u", claim("c", version="5", uid="u"))
    assert book.put("v", claim("c", version="1", uid="v")) == KEY
    assert book.remove("u") == ""
    assert KEY in book
    assert book.remove("v") == KEY
    assert KEY not in book


def test_a_claim_that_is_gone_is_forgotten():
    book = KnownClaims()
    book.put("u", claim("c"))
    assert book.remove("unknown") == ""
    assert book.remove("u") == KEY
    assert book.get(KEY) is None


def test_an_expected_claim_stands_until_there_is_one_and_again_when_it_is_gone():
    book = KnownClaims()
    assert book.expect(KEY, expected(), REPORT)
    assert not book.expect(KEY, expected(), REPORT)
    assert book.find_report(KEY) == REPORT
    assert KEY in book
    book.put("u", claim("c", given=allocation("a")))
    assert not book.expect(KEY, expected(), REPORT)
    assert (found := book.get(KEY)) is not None
    assert found.allocation
    assert book.remove("u") == KEY
    assert (found := book.get(KEY)) is not None
    assert found.allocation == ""


def test_what_is_no_longer_expected_is_gone_only_if_it_was_not_created():
    book = KnownClaims()
    book.expect(KEY, expected(), REPORT)
    assert book.forget(KEY)
    assert KEY not in book
    assert book.find_report(KEY) is None
    assert not book.forget(KEY)
    book.expect(KEY, expected(), REPORT)
    book.put("u", claim("c"))
    assert not book.forget(KEY)
    assert KEY in book
