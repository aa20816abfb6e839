"""Quantized shares of the work that may be shed, and what they make of all work."""

from collections.abc import Mapping

from streamshed.planning.tree.quantization import WHOLE, sampling_rate_of


def work_share(work_code: int, least_share: float) -> float:
    """Return the share of all work on a stream's rows that is done: L + (1 − L)·P.

    Args:
        work_code: That of P, the share of the work that may be shed which is done all the same.
        least_share: L, the share of all work that nothing may shed.

    Example:
        Half of the work is for queries that need every row; of the rest a tenth is done.

        >>> round(work_share(32, 0.5), 3), work_share(0, 0.1)
        (0.55, 1.0)
    """
    return 1.0 if work_code == WHOLE else least_share + (1 - least_share) * sampling_rate_of(work_code)


def work_shares(work_codes: Mapping[str, int], least_shares: Mapping[str, float]) -> dict[str, float]:
    """Return `work_share` of every stream; of one whose least share is not told, all may be shed."""
    return {stream: work_share(code, least_shares.get(stream, 0.0)) for stream, code in work_codes.items()}
