"""Where a path or URI leads in this machine's own file system."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit


def local_path(path: str) -> str | None:
    """Return the path of a file or folder of this machine, also where it is given as a URI; None: it is elsewhere.

    Example:
        >>> local_path("in/packets"), local_path("file:///in/a%20b"), local_path("hdfs:///in")
        ('in/packets', '/in/a b', None)
    """
    if path.startswith("file:"):
        return unquote(urlsplit(path).path)
    return None if "://" in path else path
