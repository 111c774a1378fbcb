"""Measured statements, their references and their limits: one row each.

Source: the project's performance targets for both cores.  `budget_names` defines the names in the
statements, `budget_run` measures.
"""

from __future__ import annotations

from typing import NamedTuple

LOOPS = 200
"""How often a loop in C runs per statement."""


class Row(NamedTuple):
    """A performance target."""

    measure: str  # the operation, and the reference that it is compared with
    # subject, yardstick: the statements, over the names of the row's group (`budget_names.GROUPS`)
    subject: str
    yardstick: str
    # the limit of the subject's time with the native core, as a multiple of the yardstick's
    bar: float
    group: str  # rows of a group are measured in one process
    # maximum number of repetitions in a round; slow statements are repeated less often
    most: int = 2000
    # the limit with the ctypes core; without one it is not measured with that core
    ctypes_bar: float | None = None


_IN_C = 10  # statements that loop in C
NUMPY = "np.from_dlpack(x)"
NUMPY_IN_C = "loops.calls(np.from_dlpack, x, LOOPS)"
RECORD = "busy.__cuda_array_interface__"
EXPORT = "x.__dlpack__(max_version=version)"
BOTH = "asarray(x); asarray(y)"

ROWS = (
    Row("import of a NumPy array / np.from_dlpack of it", "from_dlpack(x)", NUMPY, 0.30, "host",
        ctypes_bar=6.0),
    Row("import of a subclass of ndarray / np.from_dlpack", "from_dlpack(sub)", NUMPY, 0.85,
        "host"),
    Row("the direct read switched off / np.from_dlpack", "from_dlpack(x)", NUMPY, 0.85, "asked"),
    Row("bare capsule / np.from_dlpack", "from_dlpack(x.__dlpack__(max_version=version))", NUMPY,
        1.0, "host", ctypes_bar=11.0),
    Row("import, and shape, strides and dtype read / np.from_dlpack",
        "a = from_dlpack(x); a.shape; a.strides; a.dtype", NUMPY, 1.2, "host", ctypes_bar=13.0),
    Row("asarray of a NumPy array / np.from_dlpack", "asarray(x)", NUMPY, 0.30, "host"),
    Row("asarray of bytes / np.frombuffer", "asarray(b'abcdefgh')", "np.frombuffer(b'abcdefgh')",
        1.0, "host"),
    Row("from_dlpack of an Array / np.from_dlpack", "from_dlpack(ours)", NUMPY, 0.5, "host"),
    Row("import of a torch tensor / tvm_ffi.from_dlpack of it", "from_dlpack(tensor)",
        "tvm_ffi.from_dlpack(tensor)", 0.5, "peers"),
    Row("import of a torch tensor / StridedMemoryView.from_dlpack of it", "from_dlpack(tensor)",
        "StridedMemoryView.from_dlpack(tensor, stream_ptr=-1)", 0.05, "peers", 500),
    Row("import of a JAX array / its own __dlpack__", "from_dlpack(jax_array)",
        "jax_array.__dlpack__()", 1.3, "peers", 500),
    Row("export and drop / NumPy's", "ours.__dlpack__(max_version=version)", EXPORT, 0.9, "host",
        ctypes_bar=2.5),
    Row("NumPy takes an export / NumPy takes its own", "np.from_dlpack(ours)", NUMPY, 1.15, "host",
        ctypes_bar=2.0),
    Row("export of own memory, bfloat16 / NumPy's", "own.__dlpack__(max_version=version)", EXPORT,
        14.0, "host", ctypes_bar=14.0),
    Row("export of own memory, float32 / NumPy's", "plain.__dlpack__(max_version=version)", EXPORT,
        14.0, "host", ctypes_bar=14.0),
    Row("CAI dict import / building it in a property", "from_cai(ready)", RECORD, 0.8, "cuda"),
    Row("dltensor_from_py_object_no_sync / torch's", "loops.dltensors(ours, LOOPS)",
        "loops.dltensors(tensor, LOOPS)", 0.15, "c", _IN_C),
    Row("seven C getters / torch's seven AOTI getters", "loops.getters(ours, LOOPS)",
        "loops.foreign_getters(aoti_getters, aoti_handle, LOOPS)", 1.0, "c", _IN_C),
    Row("interchange_view of an ndarray / np.from_dlpack, both from C", "loops.views(x, LOOPS)",
        NUMPY_IN_C, 0.35, "c", _IN_C),
    Row("interchange_view of a torch tensor / np.from_dlpack, both from C",
        "loops.views(tensor, LOOPS)", NUMPY_IN_C, 0.35, "c", _IN_C),
    Row("interchange_view of an Array / np.from_dlpack, both from C", "loops.views(ours, LOOPS)",
        NUMPY_IN_C, 0.35, "c", _IN_C),
    Row("interchange_view_with of an ndarray / np.from_dlpack, both from C",
        "loops.views_with(x, LOOPS)", NUMPY_IN_C, 0.2, "c", _IN_C),
    Row("interchange_view_with of a torch tensor / np.from_dlpack, both from C",
        "loops.views_with(tensor, LOOPS)", NUMPY_IN_C, 0.35, "c", _IN_C),
    Row("interchange_view_column of a column / pyarrow's own export, both from C",
        "loops.columns(column, LOOPS)", "loops.calls(export_column, column, LOOPS)", 2.0,
        "columns", _IN_C),
    Row("capsule of memory of C / NumPy's own export, both from C", "loops.c_memory(True, LOOPS)",
        "loops.calls(np.ndarray.__dlpack__, x, LOOPS)", 0.9, "c", _IN_C),
    Row("interchange_view_with of an Array / np.from_dlpack, both from C",
        "loops.views_with(ours, LOOPS)", NUMPY_IN_C, 0.2, "c", _IN_C),
    Row("two streams ordered / record and wait through cuda.bindings",
        "order(producer, consumer, 0, 'bench')",
        "record(event, producer); wait(consumer, event, 0)", 1.3, "cuda", ctypes_bar=1.3),
    Row("from_cai, ordered when taken / StridedMemoryView's", "from_cai(busy)",
        "view(busy, stream_ptr=consumer)", 0.5, "cuda", ctypes_bar=0.5),
    Row("from_cai, nothing pending / StridedMemoryView's", "from_cai(idle)",
        "view(idle, stream_ptr=consumer)", 0.8, "cuda", ctypes_bar=0.5),
    Row("from_cai, ordered at once / StridedMemoryView's", "from_cai(busy, stream=consumer)",
        "view(busy, stream_ptr=consumer)", 1.0, "cuda", ctypes_bar=0.5),
    Row("an address is asked about / cuda.bindings", "pointer_attributes(ptr, 'bench')",
        "ask(ordinal, ptr)", 2.0, "cuda", ctypes_bar=2.0),
    Row("x + y of three elements / NumPy's", "small + small", "few + few", 2.5, "host",
        ctypes_bar=4.0),
    Row("xp.sum(x) of three elements / np.sum", "xp.sum(small)", "np.sum(few)", 3.0, "host",
        ctypes_bar=3.0),
    Row("x + y of 10**6 elements / NumPy's", "large + large", "many + many", 1.05, "host", 20,
        ctypes_bar=1.05),
    Row("xp.sum(x) of 10**6 elements / np.sum", "xp.sum(large)", "np.sum(many)", 1.05, "host", 20,
        ctypes_bar=1.05),
    Row("xp.from_dlpack(x) / ix.from_dlpack", "xp.from_dlpack(x)", "from_dlpack(x)", 1.05, "host",
        ctypes_bar=1.05),
    Row("CAI record parsed / building it in a property", "parse_record(record)",
        "producer.__cuda_array_interface__", 2.6, "host", ctypes_bar=2.6),
    *(Row(measure, call, BOTH, 2.5, "contracts", ctypes_bar=2.5)
      for measure, call in (
          ("`f(x, y)`, each with dtype, named extents and order", "checked(x, y)"),
          ("`f(x, y)`, each with all words", "strict(x, y)"),
          ("`f(x=x, y=y)`, likewise", "checked(x=x, y=y)"),
          ("`f(x, y)` without contracts", "imported(x, y)"),
          ("`f(x, y)` without the decorator, and both imports", "plain(x, y)"),
      )),
)  # fmt: skip

IMPORT_MEASURE = "import interchange / import numpy, CPU time beyond the interpreter's"
IMPORT_BAR = 0.35
