"""C callers that make mistakes get an error and an exception, and no crash.

Each runs in a child process.
"""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.isolated

MISTAKES = (
    *("handle of NULL", "handle into NULL", "handle of no Array"),
    *("view of NULL", "view into NULL", "view that is filled"),
    *("size 0", "size too small", "size too large", "version 0", "version too new"),
    *("release of NULL", "release of a view never filled", "release of a struct of zeros"),
    *("release of garbage", "release of garbage that was set up", "release after a refusal"),
    *("release of a copy", "release twice"),
    *("request of NULL", "request for NULL", "request into NULL", "request of zeros"),
    *("request of garbage", "request of garbage that was set up"),
    *("request for a view that is filled", "done of NULL", "done of a view never filled"),
    "done of a copy",
)
GETTERS = (
    *("data_ptr", "ndim", "shape", "strides_in_elements", "device_id", "dtype", "dtype_itemsize"),
    *("device_type", "strides_in_bytes", "itemsize", "readonly"),
)
START = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import interchange as ix
import probe
"""


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused(run_isolated, probe, mistake):
    """An error is interchange's own, and cites the rule."""
    script = f"{START}\nprint(probe.mistake(sys.argv[2], ix.asarray(b'abc')))"
    told = run_isolated(script, probe.parent, mistake)

    assert told.startswith("ArgumentError: interchange_")
    rule = "IX-CAPI-3" if "request of" in mistake and "NULL" not in mistake else "IX-CAPI-1"
    assert told.endswith(f"[{rule}]\n")


def test_an_object_that_is_no_array_is_refused(run_isolated, probe):
    """An object that is no array raises the error of asarray."""
    script = f"{START}\nprint(probe.mistake('view of no array', None))"

    assert "[IX-PROTOCOL-1]" in run_isolated(script, probe.parent)


@pytest.mark.parametrize("getter", GETTERS)
def test_a_getter_refuses_null(run_isolated, probe, getter):
    """NULL is refused for the handle and for the result, and so is an invalid handle."""
    script = f"""{START}
seen = ix.asarray(np.ones(3))
fresh = ix.from_pointer(4096, (2, 3), "float32")  # nobody asked for its numbers
print(*probe.getter(sys.argv[2], seen, fresh), sep="\\n")
"""
    told = run_isolated(script, probe.parent, getter).splitlines()

    name = f"interchange_array_get_{getter.removesuffix('_itemsize')}()"
    assert [each.partition(";")[0] for each in told] == [
        f"ArgumentError: {name}: the handle is NULL",
        f"ArgumentError: {name}: the output pointer is NULL",
        f"ArgumentError: {name}: the handle is not from interchange_array_get_handle()",
    ]


@pytest.mark.parametrize("mistake", ["abi_version", "struct_size"])
def test_an_older_interchange_is_an_import_error(run_isolated, probe, mistake):
    """The header checks the table before it calls a function."""
    script = f"""{START.replace("import probe", "")}
import ctypes
import c_api

table = c_api.Table.from_buffer_copy(c_api.table())
setattr(table, sys.argv[2], getattr(table, sys.argv[2]) - 1)
new = ctypes.PyDLL(None).PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
ix._C_API = new(ctypes.addressof(table), c_api.NAME, None)
try:
    import probe
except ImportError as error:
    print(error)
"""
    assert "upgrade array-interchange" in run_isolated(script, probe.parent, mistake)


def test_without_the_native_core_the_header_says_so(run_isolated, probe):
    """An ImportError, as where interchange is not installed."""
    script = f"""{START.replace("import probe", "")}
try:
    import probe
except ImportError as error:
    print(ix.core_name, error)
"""
    told = run_isolated(script, probe.parent, env={"INTERCHANGE_CORE": "ctypes"})

    assert told.startswith("ctypes interchange has no C API here")
