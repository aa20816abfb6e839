"""Write down what Spark answers to expressions over odd rows: tests compare with it where no Spark is.

    python scripts/spark_expressions.py

Draws the expressions of `tests/oracles/written_answers.py` anew, evaluates them on Spark on the rows of which
`streamshed.columnar.expressions` is sure, and writes `tests/golden/expressions/answers.jsonl`. Exits with 1, and writes
nothing, if Spark answers otherwise.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.oracles.odd_rows import odd_rows
from tests.oracles.spark_answers import Failure, disagreements, spark_answers
from tests.oracles.written_answers import ANSWERS, drawn, line
from tests.spark.sessions import interpreting, session_for_tests


def main() -> int:
    """Write the file."""
    rows = odd_rows()
    spark = session_for_tests()
    lines = []
    for dialect, results in drawn(rows):
        answers = spark_answers(interpreting(spark), rows, results, dialect)
        if wrong := disagreements(results, answers):
            sys.stderr.write("\n".join(wrong) + "\n")
            return 1
        for result in results:
            answer = answers.get(result.sql)
            if answer is not None and not isinstance(answer, Failure):
                lines.append(line(dialect, result, answer))
    ANSWERS.parent.mkdir(parents=True, exist_ok=True)
    ANSWERS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
