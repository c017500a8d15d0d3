"""Tables in files as data frames: one set of rules for cells, and a type for every column."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accredit.core import InvalidInput, needs
from accredit.core.tables import Sheet, ending, is_table, read_sheet

if TYPE_CHECKING:
    import pandas


def read_frame(path: str | Path) -> pandas.DataFrame:
    """A table in a .csv, .tsv, .jsonl (.gz may follow) or .parquet file as a data frame; empty cells are missing values."""
    if ending(path) == ".parquet":
        frame = _parquet(path)
    elif is_table(path):
        frame = _typed(read_sheet(path))
    else:
        raise InvalidInput(f"{str(path)!r} ends in neither .csv, .tsv, .jsonl (.gz may follow) nor .parquet")
    if frame.empty:
        raise InvalidInput(f"{str(path)!r} holds no rows")
    doubled = frame.columns[frame.columns.duplicated()]
    if len(doubled):
        raise InvalidInput(f"two columns of {str(path)!r} are called {doubled[0]!r}; give each a name of its own")
    return frame.reset_index(drop=True)


def _pandas() -> Any:
    with needs("data", "reading a table"):
        import pandas
    return pandas


def _parquet(path: str | Path) -> pandas.DataFrame:
    if not Path(path).is_file():
        raise InvalidInput(f"{str(path)!r} does not exist; give the path of a file")
    try:
        frame: pandas.DataFrame = _pandas().read_parquet(path).rename(columns=str)
    except ImportError:
        raise InvalidInput(f"reading {str(path)!r} needs pyarrow: pip install pyarrow, or convert it to .csv") from None
    except (ValueError, OSError) as error:  # pandas' parser errors are ValueErrors
        raise InvalidInput(f"{str(path)!r} cannot be read as a table: {str(error).splitlines()[0]}"[:300]) from None
    return frame


def _typed(sheet: Sheet) -> pandas.DataFrame:
    """Cells as numbers, truth values or words, whichever fits the whole column; pandas reads them from quoted lines."""
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([sheet.names, *sheet.rows])
    out.seek(0)
    frame: pandas.DataFrame = _pandas().read_csv(out, names=list(sheet.names), header=0, index_col=False)
    return frame
