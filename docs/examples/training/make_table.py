"""Write a table to train from, part by part: ``python make_table.py FILE ROWS``."""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

WIDTH = 32  # features of a row
PART = 2**16  # rows that are in memory at a time

SCHEMA = pa.schema([("x", pa.list_(pa.float32(), WIDTH)), ("y", pa.float32())])


def write(path, rows):
    """Write rows of random features, and a target that is a function of them."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(WIDTH, "f4") / WIDTH**0.5
    with pq.ParquetWriter(path, SCHEMA, compression="none", use_dictionary=False) as file:
        for start in range(0, rows, PART):
            x = rng.standard_normal((min(PART, rows - start), WIDTH), "f4")
            features = pa.FixedSizeListArray.from_arrays(x.ravel(), WIDTH)
            file.write_batch(pa.record_batch([features, np.tanh(x @ weights)], schema=SCHEMA))


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]))
