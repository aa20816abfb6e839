"""Makes up a trace to replay: rides of taxis, or requests to a language model, ten minutes of a thousand a second.

python examples/made_up_trace.py rides|requests FILE [ROWS]
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

ROWS_PER_SECOND = 1000


def rides(random: np.random.Generator, rows: int) -> dict[str, pa.Array]:
    """Return rides; few of them pay tolls, and those pay much."""
    fare = random.lognormal(2.3, 0.6, rows) + 2.5
    by_card = random.random(rows) < 0.55
    tolls = np.where(random.random(rows) < 0.04, random.lognormal(1.6, 0.5, rows), 0.0)
    tip = np.where(by_card, fare * random.uniform(0.0, 0.3, rows), 0.0)
    return {
        "vendor_id": pa.array(random.choice(["CMT", "VTS"], rows)),
        "payment_type": pa.array(np.where(by_card, "CRD", "CSH")),
        "tip_amount": pa.array(tip.round(2)),
        "tolls_amount": pa.array(tolls.round(2)),
        "total_amount": pa.array((fare + tip + tolls).round(2)),
    }


def requests(random: np.random.Generator, rows: int) -> dict[str, pa.Array]:
    """Return requests; few tenants send most of them."""
    tenants = np.minimum(random.zipf(1.5, rows), 200)
    return {
        "tenant": pa.array([f"tenant {number}" for number in tenants]),
        "context_tokens": pa.array(random.lognormal(6.8, 1.1, rows).astype(np.int64) + 1),
        "generated_tokens": pa.array(random.lognormal(4.7, 0.9, rows).astype(np.int64) + 1),
    }


def main() -> None:
    """Write a trace."""
    columns = {"rides": rides, "requests": requests}[sys.argv[1]]
    file, rows = Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 600 * ROWS_PER_SECOND
    microseconds = np.arange(rows, dtype=np.int64) * (1_000_000 // ROWS_PER_SECOND)
    times = pa.array(np.datetime64("2026-01-01", "us") + microseconds).cast(pa.timestamp("us", tz="UTC"))
    file.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table({"ts": times, **columns(np.random.default_rng(0), rows)}), file)


if __name__ == "__main__":
    main()
