"""Lets examples of docstrings be shown as code: the parser takes only `Examples:` for doctests."""

from typing import Any

import griffe


class DoctestSections(griffe.Extension):
    """Reads the heading `Example:` as `Examples:`."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the heading before the docstring is parsed."""
        if obj.docstring is not None:
            obj.docstring.value = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")
