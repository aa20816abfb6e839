"""Random queries over rows that come out of order, some of them late; rows and windows are compared with an oracle's.

Spark generates code here, as in production.
"""

from tests.spark.trunks.random.arrivals import STEPS
from tests.spark.trunks.random.specs import INPUTS
from tests.spark.trunks.trunk import Trunk

TRUNK = Trunk(
    inputs=INPUTS,
    steps=STEPS,
    killed_in=1,
    killed="written",
    settings={"unscalable": "keep"},
    session={"spark.sql.codegen.wholeStage": "true"},
)
