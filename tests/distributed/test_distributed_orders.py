"""Registration with Dask: in either import order, and without importing the other library."""

from __future__ import annotations

import json

import pytest

ORDERS = {
    "dask first": "import dask.array, distributed, interchange as ix",
    "interchange first": "import interchange as ix; import dask.array, distributed",
    "in between": "import dask; import interchange as ix; import distributed, dask.array",
    "never dask": "import interchange as ix",
}
SCRIPT = """
import json, sys
{order}

if "distributed" not in sys.modules:
    print(json.dumps([name for name in sys.modules if name.partition(".")[0] == "dask"]))
    sys.exit()
from dask.array.dispatch import concatenate_lookup
from dask.sizeof import sizeof
from distributed.protocol import deserialize, serialize

array = ix.asarray(bytearray(1000))
header, frames = serialize(array)
print(json.dumps([
    sizeof(array),
    header["serializer"],
    deserialize(header, frames).ptr == array.ptr,
    type(concatenate_lookup.dispatch(ix.Array)([array, array])).__name__,
]))
"""
RECEIVER = """
import interchange
import distributed
from distributed.protocol import deserialize

header = eval({header!r})
print(deserialize(header, [bytearray(24)]).tolist())
"""


@pytest.mark.interop
@pytest.mark.parametrize("order", ["dask first", "interchange first", "in between"])
def test_dask_is_told_in_every_order(need, run_isolated, order):
    """Sizes, frames and blocks are known once both are there."""
    need("distributed")

    said = json.loads(run_isolated(SCRIPT.format(order=ORDERS[order])))

    assert said == [1000, "dask", True, "Array"]


@pytest.mark.interop
def test_a_process_that_saw_no_array_yet_can_receive_one(need, run_isolated):
    """The table is filled before a class is looked up, without calling interchange."""
    need("distributed")
    import numpy as np
    from distributed.protocol import serialize

    import interchange as ix

    header, _ = serialize(ix.asarray(np.zeros(3)))

    assert run_isolated(RECEIVER.format(header=repr(header))) == "[0.0, 0.0, 0.0]\n"


def test_interchange_imports_no_dask(run_isolated):
    """Importing interchange does not import Dask, and waits for its import."""
    assert json.loads(run_isolated(SCRIPT.format(order=ORDERS["never dask"]))) == []


def test_a_dask_that_changed_can_still_be_imported(run_isolated, tmp_path):
    """A registration that fails is logged, and does not fail the import."""
    (tmp_path / "dask").mkdir()
    (tmp_path / "dask" / "__init__.py").write_text("")
    (tmp_path / "dask" / "sizeof.py").write_text("other = 1\n")
    script = """
import logging, sys

sys.path.insert(0, sys.argv[1])
logging.basicConfig(stream=sys.stdout, format="%(message)s")
import interchange
import dask.sizeof

print(dask.sizeof.other)
"""

    said = run_isolated(script, tmp_path).splitlines()

    assert (said[0], said[-1]) == ("cannot tell dask.sizeof of Arrays", "1")
