"""How objects show themselves in notebooks."""

from __future__ import annotations

from html import escape

_MOST_LINES = 10


def shortened(text: str) -> str:
    r"""Return at most ten lines of a text, and how many were left out.

    Example:
        >>> print(shortened("\n".join("abcdefghijklmn")).splitlines()[-2:])
        ['i', '… 5 more lines']
    """
    lines = text.splitlines()
    if len(lines) <= _MOST_LINES:
        return text
    return "\n".join([*lines[: _MOST_LINES - 1], f"… {len(lines) - _MOST_LINES + 1} more lines"])


def preformatted(text: str) -> str:
    """Return a text as HTML, in letters of equal width.

    Example:
        >>> preformatted("a < b")
        '<pre>a &lt; b</pre>'
    """
    return f"<pre>{escape(text)}</pre>"


class Shown:
    """Something that shows its text wherever it is looked at."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return preformatted(str(self))


class ShownInBrief(Shown):
    """Something that shows its text in a notebook, and at most ten lines of it in a terminal."""

    def __repr__(self) -> str:
        return shortened(str(self))
