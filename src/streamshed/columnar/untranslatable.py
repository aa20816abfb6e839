"""What is left to Spark's own expressions."""


class Untranslatable(Exception):  # noqa: N818 - not an error: the rows go the other way
    """Says why something is not computed on Arrow columns; Spark computes it then."""
