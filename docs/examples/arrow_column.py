"""A column of an Arrow table, as an array of any library.

python arrow_column.py LIBRARY
"""

import sys

import pyarrow as pa

import interchange as ix


def column(table, name):
    """Return a column as an Array: the memory of the table, which says that it is read-only."""
    chunks = table[name]
    return ix.asarray(chunks.chunk(0) if chunks.num_chunks == 1 else chunks.combine_chunks())


def main(library):
    """Show that the column shares the table's memory, and give a copy to a library to train on."""
    table = pa.table({"speed": [3.0, 4.0, 5.0], "wheels": [4, 4, 2]})
    speed = column(table, "speed")

    print(speed)
    print("shared:", speed.ptr == table["speed"].chunk(0).buffers()[1].address)
    theirs = ix.convert(speed, library, copy=True)
    theirs[0] = 0
    print(f"{library} has", ix.asarray(theirs).tolist(), "and Arrow", speed.tolist())


if __name__ == "__main__":
    main(sys.argv[1])
