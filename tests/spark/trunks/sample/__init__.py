"""Answers from samples: whole, then about a third, a twentieth and an eighth of the rows, then whole again.

The process is killed among micro-batches that shed.
"""

from streamshed.planning.tree.quantization import sampling_rate_of
from tests.spark.sessions import NOT_FUSED
from tests.spark.trunks.sample.events import STEPS, events
from tests.spark.trunks.trunk import Trunk

CODES = (0, 16, 40, 28, 0)
"""By step, the code of the rate at which most queries are sampled."""

RATES = tuple(sampling_rate_of(code) for code in CODES)
SHED_STEPS = tuple(step for step, code in enumerate(CODES) if code)
CONFIDENCE = 0.9

TRUNK = Trunk(
    inputs=(events("events"),),
    steps=STEPS,
    killed_in=1,
    killed="written",
    settings={"confidence": CONFIDENCE},
    session=NOT_FUSED,
)
