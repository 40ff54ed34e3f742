"""One text for a thing that several texts tell apart, so that no two things ever get the same one."""

from __future__ import annotations

from hashlib import sha256

OWNER = "Owner"
"""What the ids of jobs begin with that are the pods of an owner; those of groups begin with the group's kind."""

LONGEST = 1000
"""Characters of an identity; solvers take names of up to 1,024."""


def identity(*parts: str) -> str:
    """Return one text for ``parts``, such as ``a/b/c``; slashes within a part are escaped.

    Parts may be whatever somebody wrote into an object: other parts, or more of them, give another text. Of what would
    be longer than ``LONGEST`` the first part is left, and a digest.
    """
    text = "/".join([part if "/" not in part and "%" not in part else _escaped(part) for part in parts])
    if len(text) <= LONGEST:
        return text
    return f"{_escaped(parts[0])[: LONGEST // 2]}/{sha256(text.encode(errors='surrogatepass')).hexdigest()}"


def parts_of(text: str) -> list[str]:
    """Return what ``identity`` was made of, as far as it is short enough to be told."""
    return [part.replace("%2F", "/").replace("%25", "%") for part in text.split("/")]


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace("/", "%2F")
