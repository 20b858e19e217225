"""Parquet files of tables. They need pyarrow."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from actors.core.errors import RunDirectoryError
from actors.core.extras import not_installed
from prism.tables import Batch, Kind, Table

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

WITHOUT_PYARROW: Final = f"{not_installed('--to parquet needs pyarrow', 'export')}; csv and sqlite need nothing"


class ParquetFiles:
    """A Parquet file for each table, compressed with zstd."""

    def __init__(self, directory: Path) -> None:
        try:
            import pyarrow  # noqa: PLC0415  # an optional package
            import pyarrow.parquet  # noqa: PLC0415
        except ImportError:
            raise RunDirectoryError(WITHOUT_PYARROW) from None
        self._arrow: Any = pyarrow
        self._directory = directory
        self._writers: dict[str, pyarrow.parquet.ParquetWriter] = {}
        self._schemas: dict[str, pyarrow.Schema] = {}

    def begin(self, table: Table) -> None:
        """Create the file of a table."""
        schema = self._schemas[table.name] = self._schema(table)
        path = self._directory / f"{table.name}.parquet"
        self._writers[table.name] = self._arrow.parquet.ParquetWriter(path, schema, compression="zstd")

    def write(self, table: Table, batch: Batch) -> None:
        """Append rows, as one row group."""
        schema = self._schemas[table.name]
        arrays = [self._arrow.array(values, type=field.type) for values, field in zip(batch, schema, strict=True)]
        self._writers[table.name].write_batch(self._arrow.RecordBatch.from_arrays(arrays, schema=schema))

    def close(self, facts: Mapping[str, str]) -> None:
        """Complete the files, with these facts in the metadata of each."""
        while self._writers:
            writer = self._writers.popitem()[1]
            writer.add_key_value_metadata(facts)
            writer.close()

    def discard(self) -> None:
        """Close the files."""
        while self._writers:
            with suppress(OSError):
                self._writers.popitem()[1].close()

    def _schema(self, table: Table) -> pyarrow.Schema:
        arrow = self._arrow
        types = {
            Kind.INTEGER: arrow.int64(),
            Kind.NUMBER: arrow.float64(),
            Kind.BOOLEAN: arrow.bool_(),
            Kind.TIME: arrow.timestamp("us", tz="UTC"),
            Kind.NAME: arrow.dictionary(arrow.int32(), arrow.string()),
            Kind.TEXT: arrow.string(),
            Kind.JSON: arrow.string(),
        }
        fields = [
            self._arrow.field(
                column.name, types[column.kind], metadata={"description": column.about, "unit": column.unit}
            )
            for column in table.columns
        ]
        return self._arrow.schema(fields, metadata={"table": table.name, "description": table.about})
