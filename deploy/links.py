"""Links of a document that is read away from the repository: on a package index, in the notes of a release."""

from __future__ import annotations

import re

_LINK = re.compile(r"(?P<picture>!?)(?P<label>\[[^\[\]]*\])\((?P<to>[^)\s]+)\)")


def point_to_repository(text: str, home: str, tag: str) -> str:
    """Return a Markdown text whose relative links lead to the files of a tag of the repository at ``home``.

    Pictures lead to the files themselves, all other links to the pages that show them. Links within the text, and
    links that lead elsewhere already, stay as they are.
    """

    def lead(found: re.Match[str]) -> str:
        to = found["to"]
        if "://" in to or to.startswith(("#", "mailto:")):
            return found[0]
        shown = "raw" if found["picture"] else "blob"
        return f"{found['picture']}{found['label']}({home}/{shown}/{tag}/{to})"

    return _LINK.sub(lead, text)
