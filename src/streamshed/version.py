"""Which release of streamshed this is."""

__version__ = "0.1.0"
