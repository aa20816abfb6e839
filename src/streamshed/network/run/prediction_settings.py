"""How gaps are filled with predictions: the names of the methods, and where a run writes what it predicts."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.errors import InvalidNetworkError, unknown_name

PREDICTION_METHODS = ("linear", "local")
"""How what is missing may be predicted; `streamshed.answering.predict.prediction` says what each does."""

DEFAULT_PREDICTION_METHOD = "local"


@dataclass(frozen=True, slots=True)
class PredictionSettings:
    """That a run predicts what dropped windows would have been answered, as soon as later windows are.

    Attributes:
        path: The folder that predictions are written to, as Parquet; never that of the answers.
        method: One of `PREDICTION_METHODS`.

    Raises:
        InvalidNetworkError: There is no such method.
    """

    path: str
    method: str = DEFAULT_PREDICTION_METHOD

    def __post_init__(self) -> None:
        check_prediction_method(self.method)


def check_prediction_method(method: str) -> None:
    """Refuse a method that there is not.

    Raises:
        InvalidNetworkError: There is no such method.

    Example:
        >>> check_prediction_method("lineal")
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: unknown method "lineal", known are: linear, local
        (did you mean "linear"?)
    """
    if method not in PREDICTION_METHODS:
        raise InvalidNetworkError(unknown_name("method", method, PREDICTION_METHODS))
