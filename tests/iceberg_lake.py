"""A catalog of Iceberg for tests, in a folder; its tables are read by PyIceberg's metadata and by DuckDB."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import duckdb
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table


@dataclass(frozen=True)
class IcebergLake:
    """A catalog in SQLite, and the files of its tables.

    Attributes:
        name: The catalog's.
        folder: Where they are.
    """

    name: ClassVar[str] = "lake"

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variables that tell PyIceberg of the catalog."""
        prefix = f"PYICEBERG_CATALOG__{self.name.upper()}__"
        return {f"{prefix}{name.upper()}": value for name, value in self._properties.items()}

    @property
    def catalog(self) -> SqlCatalog:
        """The catalog."""
        return SqlCatalog(self.name, **self._properties)

    def table(self, name: str) -> Table:
        """A table, "namespace.table"."""
        with self.catalog as catalog:
            return catalog.load_table(name)

    def rows(self, name: str) -> list[dict[str, Any]]:
        """All rows of a table, by column, as DuckDB reads its files; times are UTC."""
        files = self.table(name).inspect.data_files()["file_path"].to_pylist()
        if not files:
            return []
        with duckdb.connect() as database:
            database.execute("SET TimeZone = 'UTC'")
            rows: list[dict[str, Any]] = database.read_parquet(files).to_arrow_table().to_pylist()
            return rows

    @property
    def _properties(self) -> dict[str, str]:
        return {"uri": f"sqlite:///{self.folder}/catalog.db", "warehouse": f"file://{self.folder}"}
