"""What a user gave, checked at run time whatever the annotations say."""


def is_text(value: object) -> bool:
    """Whether a value is text."""
    return isinstance(value, str)


def is_filled_text(value: object) -> bool:
    """Whether a value is text with more than white space in it."""
    return isinstance(value, str) and bool(value.strip())


def is_whole_number(value: object, at_least: int | None = None) -> bool:
    """Whether a value is an int (no bool), and no less than a bound where one is given."""
    return isinstance(value, int) and not isinstance(value, bool) and (at_least is None or value >= at_least)


def is_number(value: object) -> bool:
    """Whether a value is an int or a float (no bool)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_a(value: object, *kinds: type) -> bool:
    """Whether a value is of one of some kinds."""
    return isinstance(value, kinds)
