"""Values that cannot become what their column is declared as."""

import pyarrow as pa
import pytest

from streamshed.errors import SourceUnavailableError
from streamshed.spark.relations.text_values import typed


def test_a_column_of_another_kind_is_told_by_its_type_and_not_by_a_value() -> None:
    flags = pa.chunked_array([[True, None]])
    with pytest.raises(SourceUnavailableError, match=r'^"x\.parquet": "at" is bool, which cannot be read as timestamp'):
        typed(flags, pa.field("at", pa.timestamp("us")), where='"x.parquet"', time_zone="UTC")
