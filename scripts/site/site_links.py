"""Links of pages that are made already: where they lead, and what a page loads."""

from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""What a browser loads with a page, by tag: the attribute that says from where."""


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors, self.links, self.loaded = {""}, set[str](), set[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.anchors |= {attributes[name] for name in ("id", "name") if name in attributes}
        if tag == "a" and "href" in attributes:
            self.links.add(attributes["href"])
        if tag in LOADED and LOADED[tag] in attributes and attributes.get("rel") != "canonical":
            self.loaded.add(attributes[LOADED[tag]])


@cache
def _page(path: Path) -> _Page:
    return _Page(path.read_text("utf-8"))


def broken_links(page: Path, site: Path) -> Iterator[str]:
    """What is wrong with the links of a page.

    Args:
        page: An HTML file of the site.
        site: Its folder.

    Yields:
        A sentence for each link to a file or heading that is not there, and each file that comes from elsewhere.
    """
    for link in sorted(_page(page).links | _page(page).loaded):
        parts = urlsplit(link)
        if parts.scheme == "data" or (parts.scheme and link not in _page(page).loaded):
            continue
        if parts.scheme or parts.netloc:
            yield f"{link} is loaded from the network"
            continue
        base = site if parts.path.startswith("/") else page.parent
        target = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else page
        target = target / "index.html" if target.is_dir() else target
        if not target.exists():
            yield f"{link} leads to no file"
        elif target.suffix == ".html" and unquote(parts.fragment) not in _page(target).anchors:
            yield f"{link} leads to no heading"
