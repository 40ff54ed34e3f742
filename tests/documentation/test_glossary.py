"""The glossary is short, and has the words that several documents introduce."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

from tests.documentation.markdown import ROOT

DOCUMENTS: Final = ROOT / "docs"
MOST_WORDS: Final = 22
CODE: Final = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
ROW: Final = re.compile(r"^\| (?!word \||---)([^|]+?) \|", re.MULTILINE)
ITALIC: Final = re.compile(r"(?<![\w*])\*([a-z][a-z -]+)\*(?!\*)")

STRESSED: Final = {"all", "fits", "full", "waiting"}
"""Ordinary words that several documents stress; they introduce nothing."""


def glossary_words() -> list[str]:
    """Return the words that have a row in the glossary."""
    return ROW.findall((DOCUMENTS / "glossary.md").read_text())


def introduced_words() -> dict[str, set[str]]:
    """Return the words in italics of all documents, with the documents, code aside."""
    found: dict[str, set[str]] = defaultdict(set)
    for document in DOCUMENTS.glob("*.md"):
        for word in ITALIC.findall(CODE.sub("", document.read_text())):
            found[word].add(document.name)
    return found


def test_the_glossary_is_short_and_sorted():
    words = glossary_words()
    assert 0 < len(words) <= MOST_WORDS, "use Kubernetes' words, or leave out one that few pages use"
    assert words == sorted(words)


def test_words_that_several_documents_introduce_are_in_the_glossary():
    glossary = (DOCUMENTS / "glossary.md").read_text()
    missing = {
        word for word, places in introduced_words().items() if len(places) > 1 and word not in glossary
    }
    assert missing == STRESSED & missing, "explain them in the glossary, or use a word that readers know"


def test_words_of_the_glossary_are_used():
    documents = (each for each in DOCUMENTS.rglob("*.md") if each.name != "glossary.md")
    text = " ".join(each.read_text().lower().replace("_", " ") for each in documents)
    unused = [word for word in glossary_words() if word.removesuffix("s") not in text]
    assert not unused, "they need no explanation"
