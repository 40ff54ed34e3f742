"""Shows results in notebooks and on terminals."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Callable
from contextlib import redirect_stdout
from html import escape

_HEIGHT = 620
"""The height of a page's frame in pixels; the page scrolls within the frame."""


def frame_page(sentence: str, page: str) -> str:
    """Return HTML with a sentence and, in a frame, a self-contained page.

    The frame's address contains the page, so that the page's styles and scripts do not affect the notebook. Web sites
    that do not show frames, such as hosts of repositories, only show the sentence.
    """
    address = f"data:text/html;base64,{b64encode(page.encode()).decode()}"
    size = f'width="100%" height="{_HEIGHT}" style="border:0"'
    return f'<p>{escape(sentence)}</p><iframe src="{address}" {size} title="{escape(sentence)}"></iframe>'


def capture_text(show: Callable[[], None]) -> str:
    """Return the text that ``show`` prints."""
    text = io.StringIO()
    with redirect_stdout(text):
        show()
    return text.getvalue().rstrip("\n")
