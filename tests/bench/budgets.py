"""What the native core must reach, against other libraries: data, one row each.

Source: the project's performance targets for the native core.  `budget_names` says what the names
in the statements are, `budget_run` measures.
"""

from __future__ import annotations

from typing import NamedTuple

LOOPS = 200
"""How often a loop in C runs per statement."""


class Row(NamedTuple):
    """A target.

    Attributes
    ----------
    measure : str
        What is done, and what it is compared with.
    subject, yardstick : str
        The statements, over the names of the row's group (`budget_names.GROUPS`).
    bar : float
        The most that the subject may take, as a multiple of the yardstick.
    group : str
        Rows of a group are measured in one process.
    most : int
        How often it is done in a round at most; statements that take long are done less often.
    """

    measure: str
    subject: str
    yardstick: str
    bar: float
    group: str
    most: int = 2000


_IN_C = 10  # statements that loop in C
NUMPY = "np.from_dlpack(x)"
NUMPY_IN_C = "loops.calls(np.from_dlpack, x, LOOPS)"
RECORD = "fresh.__cuda_array_interface__"

ROWS = (
    Row("import of a NumPy array / np.from_dlpack of it", "from_dlpack(x)", NUMPY, 0.30, "host"),
    Row(
        "import of a subclass of ndarray / np.from_dlpack", "from_dlpack(sub)", NUMPY, 0.85, "host"
    ),
    Row("the direct read switched off / np.from_dlpack", "from_dlpack(x)", NUMPY, 0.85, "asked"),
    Row(
        "bare capsule, by the letter / np.from_dlpack",
        "from_dlpack(x.__dlpack__(max_version=version))",
        NUMPY,
        1.0,
        "host",
    ),
    Row(
        "import, and shape, strides and dtype read / np.from_dlpack",
        "a = from_dlpack(x); a.shape; a.strides; a.dtype",
        NUMPY,
        1.2,
        "host",
    ),
    Row("asarray of a NumPy array / np.from_dlpack", "asarray(x)", NUMPY, 0.30, "host"),
    Row(
        "asarray of bytes / np.frombuffer",
        "asarray(b'abcdefgh')",
        "np.frombuffer(b'abcdefgh')",
        1.0,
        "host",
    ),
    Row("from_dlpack of an Array / np.from_dlpack", "from_dlpack(ours)", NUMPY, 0.5, "host"),
    Row(
        "import of a torch tensor / tvm_ffi.from_dlpack of it",
        "from_dlpack(tensor)",
        "tvm_ffi.from_dlpack(tensor)",
        0.5,
        "peers",
    ),
    Row(
        "import of a torch tensor / StridedMemoryView.from_dlpack of it",
        "from_dlpack(tensor)",
        "StridedMemoryView.from_dlpack(tensor, stream_ptr=-1)",
        0.05,
        "peers",
        500,
    ),
    Row(
        "import of a JAX array / its own __dlpack__",
        "from_dlpack(jax_array)",
        "jax_array.__dlpack__()",
        1.3,
        "peers",
        500,
    ),
    Row(
        "export and drop / NumPy's",
        "ours.__dlpack__(max_version=version)",
        "x.__dlpack__(max_version=version)",
        0.9,
        "host",
    ),
    Row("NumPy takes an export / NumPy takes its own", "np.from_dlpack(ours)", NUMPY, 1.15, "host"),
    Row("CAI dict import / building it in a property", "from_cai(ready)", RECORD, 0.8, "cuda"),
    Row(
        "dltensor_from_py_object_no_sync / torch's",
        "loops.dltensors(ours, LOOPS)",
        "loops.dltensors(tensor, LOOPS)",
        0.15,
        "c",
        _IN_C,
    ),
    Row(
        "seven C getters / torch's seven AOTI getters",
        "loops.getters(ours, LOOPS)",
        "loops.foreign_getters(aoti_getters, aoti_handle, LOOPS)",
        1.0,
        "c",
        _IN_C,
    ),
    Row(
        "interchange_view of an ndarray / np.from_dlpack, both from C",
        "loops.views(x, LOOPS)",
        NUMPY_IN_C,
        0.35,
        "c",
        _IN_C,
    ),
    Row(
        "interchange_view of a torch tensor / np.from_dlpack, both from C",
        "loops.views(tensor, LOOPS)",
        NUMPY_IN_C,
        0.35,
        "c",
        _IN_C,
    ),
    Row(
        "interchange_view of an Array / np.from_dlpack, both from C",
        "loops.views(ours, LOOPS)",
        NUMPY_IN_C,
        0.35,
        "c",
        _IN_C,
    ),
    Row(
        "two streams ordered / record and wait through cuda.bindings",
        "order(producer, consumer, 0, 'bench')",
        "record(event, producer); wait(consumer, event, 0)",
        1.3,
        "cuda",
    ),
    Row(
        "from_cai, ordered when taken / StridedMemoryView's",
        "from_cai(busy)",
        "view(busy, stream_ptr=consumer)",
        0.5,
        "cuda",
    ),
    Row(
        "from_cai, nothing pending / StridedMemoryView's",
        "from_cai(idle)",
        "view(idle, stream_ptr=consumer)",
        0.8,
        "cuda",
    ),
    Row(
        "from_cai, ordered at once / StridedMemoryView's",
        "from_cai(busy, stream=consumer)",
        "view(busy, stream_ptr=consumer)",
        1.0,
        "cuda",
    ),
    Row("x + y of three elements / NumPy's", "small + small", "few + few", 2.5, "host"),
)

IMPORT_MEASURE = "import interchange / import numpy, CPU time beyond the interpreter's"
IMPORT_BAR = 0.35
