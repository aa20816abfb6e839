"""Errors of elasticity, named after what was violated."""

from streamshed.errors import InvalidNetworkError


class InvalidElasticityError(InvalidNetworkError):
    """Thresholds, workers or prices that cannot be were asked for."""
