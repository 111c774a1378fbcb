"""A column of an Arrow table, as an array of any library.

python arrow_column.py LIBRARY
"""

import sys

import pyarrow as pa

import interchange as ix


def main(library):
    """Show that columns share the table's memory, and pass a copy to a library for training."""
    rows = pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.float32(), 2))
    table = pa.table({"speed": [3.0, None, 5.0], "place": rows})
    place = ix.from_arrow(table["place"])
    speed, known = ix.from_arrow(table["speed"], nulls="separate")

    print(place)
    print("shared:", place.ptr == table["place"].chunk(0).values.buffers()[1].address)
    theirs = ix.convert(speed, library, copy=True)
    theirs[~ix.convert(known, library, copy=True)] = 0
    print(f"{library} has", ix.asarray(theirs).tolist(), "and Arrow", table["speed"].to_pylist())


if __name__ == "__main__":
    main(sys.argv[1])
