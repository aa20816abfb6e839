"""Numbers as Spark's SQL writes them."""

import ctypes
import re

_NUMBER = re.compile(r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)(f|d|bd)?", re.IGNORECASE)
"""A number as Spark's SQL writes it, with the letters of its type; those of whole numbers are left out."""


def sql_number(text: str) -> float | None:
    """Read a number as Spark does; None: the text is no number.

    Example:
        >>> sql_number("0.5"), sql_number(".5D"), sql_number("5e-1bd"), sql_number("0.1F"), sql_number("0.5X")
        (0.5, 0.5, 0.5, 0.10000000149011612, None)
    """
    number_match = _NUMBER.fullmatch(text)
    if number_match is None:
        return None
    number = float(number_match[1])
    return ctypes.c_float(number).value if number_match[2] in {"f", "F"} else number
