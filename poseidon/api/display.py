"""Shows answers in notebooks and on terminals."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Callable
from contextlib import redirect_stdout
from html import escape

_HEIGHT = 620
"""Pixels of a page's frame; the page scrolls within it."""


def frame_page(sentence: str, page: str) -> str:
    """Return HTML with a sentence and, in a frame, a self-contained page.

    The page is in the frame's address, which keeps its styles and scripts apart from the notebook's. Where frames are
    not shown, as on hosts of repositories, the sentence remains.
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
