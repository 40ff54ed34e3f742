"""How answers look in notebooks and on terminals."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Callable
from contextlib import redirect_stdout
from html import escape

_HEIGHT = 620
"""Pixels of a page's frame; the page scrolls within it."""


def frame_page(sentence: str, page: str) -> str:
    """Return a sentence and a page of one file in a frame.

    The page is in the frame's address, so that its styles and scripts keep apart from the notebook's. Where frames are
    not shown, as by hosts of repositories, the sentence stays.
    """
    address = f"data:text/html;base64,{b64encode(page.encode()).decode()}"
    size = f'width="100%" height="{_HEIGHT}" style="border:0"'
    return f'<p>{escape(sentence)}</p><iframe src="{address}" {size} title="{escape(sentence)}"></iframe>'


def capture_text(show: Callable[[], None]) -> str:
    """Return what ``show`` prints."""
    text = io.StringIO()
    with redirect_stdout(text):
        show()
    return text.getvalue().rstrip("\n")
