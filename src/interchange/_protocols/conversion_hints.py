"""Hints for objects that are not arrays, by their kind: a list, a number, an Arrow table.

Source: Arrow PyCapsule interface (``__arrow_c_stream__``, ``__arrow_c_array__``); array API
standard 2025.12 (``asarray``).  Nothing is imported to find out.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Set as AbstractSet
from io import FileIO, StringIO
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import show
from interchange._types.library import libraries_of, package_of

from .protocol_attributes import (
    ARRAY_WORDS,
    attribute,
    has_buffer,
    is_instance,
    is_mapping,
    is_sequence,
    supports_arrow,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interchange._types.dtypes import DType

_FILE: Final = FileIO.__mro__[-2]  # base of all files; its abstract class requires hashes
_TEXT: Final = StringIO.__mro__[1]
SHARED: Final = "pass `interchange.asarray(x)`"
_COLUMN: Final = "pass `interchange.from_arrow(x)`"
_NUMBERS: Final = (bool, int, float, complex)
_PATH: Final = re.compile(r"[^\s/\\]*[/\\]\S*|[^\s.]+\.[A-Za-z]\w{0,4}")
_RECORD: Final = frozenset({"shape", "typestr", "data"})
_INSTALLED: Final = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
_NULL: Final = "pass the address of memory: this is NULL"
NEW: Final = "which makes a new array"
NO_ARRAY: Final = "pass an array, or an object that exports memory"
_TWO: Final = 2  # axes of a table
_DEEPEST: Final = 64  # axes of an array
_PLAIN: Final = frozenset(
    {
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float", "double", "halffloat", "float16", "float32", "float64"),
    }
)
"""Names in Arrow, pandas and Polars of types that are stored as plain numbers, in lower case."""


def conversion_hint(x: Any) -> str | None:
    """Return what can be passed instead of `x`, which is not an array; None if unknown.

    Each call in it returns an `Array`, which every function here accepts.
    """
    if isinstance(x, type):
        return "pass an object of this type, not the type"
    if x is None:
        return "look at what gave None instead of an array"
    if isinstance(x, str) or hasattr(type(x), "__fspath__"):
        return _of_words(x)
    if isinstance(x, _NUMBERS) or (is_sequence(x) and _leads_to_numbers(x)):
        return _of_numbers(x)
    if memory_of(x) is not None:
        return _of_holder(x)
    return _of_arrow(x) if is_arrow(x) else _of_container(x) or _without_memory(x)


def _of_words(x: Any) -> str:
    """Return what can be passed for text, or for the path of a file."""
    text = os.fspath(x)
    if isinstance(x, str) and not _PATH.fullmatch(text):
        return "pass its bytes, `interchange.asarray(x.encode())`"
    if str(text).endswith((".npy", ".npz")):
        return "a path is not opened: pass the array that numpy.load makes of it"
    read = "`np.fromfile(x, 'uint8')`, or map it with `mmap.mmap`"
    return f"a path is not opened: pass the bytes of the file, {read}"


def _of_container(x: Any) -> str | None:
    """Return what can be passed for an object that has arrays or numbers; None for others."""
    if is_mapping(x):
        return _of_mapping(x)
    if type(x).__name__ == "CArgObject":  # ctypes.byref
        return "pass the object that it refers to, `interchange.asarray(x._obj)`"
    if is_instance(x, AbstractSet) or attribute(x, "__next__") is not None:
        one = "which makes a new array of numbers; pass arrays one by one"
        return f"pass `interchange.xp.asarray(list(x))`, {one}"
    if getattr(x, "__name__", None) == "__dlpack__" and callable(x):
        return "pass what the method returns, `interchange.asarray(x())`"
    if not _has_protocol(x) and all(hasattr(x, word) for word in ("shape", "dtype", "__getitem__")):
        return (
            "read its elements first, such as `interchange.asarray(x[...])`"  # a dataset in a file
        )
    return _of_holder(x) or library_hint(x)


def _of_mapping(x: Mapping[Any, Any]) -> str:
    """Return what can be passed for a dict: a value that is an array, or its record."""
    if x.keys() >= _RECORD:
        return "use `interchange.from_cai(x)`, which takes such a record of device memory"
    for name, value in x.items():
        if any(hasattr(value, word) for word in ARRAY_WORDS) and not isinstance(value, type):
            detached = ".detach()" if getattr(value, "requires_grad", False) is True else ""
            return f"pass one value of it, such as `interchange.asarray(x[{name!r}]{detached})`"
    return "pass one value of it that is an array"


def _without_memory(x: Any) -> str | None:
    """Return the hint for an object of a library without any protocol; None for other objects."""
    if _has_protocol(x):
        return None
    package = package_of(type(x))
    file = str(getattr(sys.modules.get(package), "__file__", None) or "")
    is_installed = package in sys.stdlib_module_names or _INSTALLED.search(file)
    return NO_ARRAY if is_installed and package != "__main__" else None


def is_pointer(x: Any) -> bool:
    """Whether an object is a pointer of ctypes, whose buffer is the pointer itself."""
    return any(one.__name__ == "_Pointer" for one in type(x).__mro__)


def address_hint(x: Any) -> str | None:
    """Return what to pass as an address, or to use, for an object that is none."""
    if isinstance(x, type) or x is None:
        return None
    if is_pointer(x):
        return "pass `ctypes.addressof(x.contents)`" if x else _NULL
    if hasattr(x, "_obj"):  # ctypes.byref
        return "use the object that it refers to, `interchange.asarray(x)`"
    if hasattr(x, "value"):  # ctypes.c_void_p
        return "pass `x.value`" if x.value else _NULL
    if isinstance(getattr(x, "data", None), int):  # ndarray.ctypes
        return "pass `x.data`"
    return (
        "use `interchange.asarray(x)`, which takes arrays and buffers" if _has_protocol(x) else None
    )


def _of_holder(x: Any) -> str | None:
    """Return what can be passed for an object that holds memory, or one number."""
    code = memory_of(x)
    if code is not None:
        return (
            f"pass its memory, `interchange.asarray({code})`"
            if code
            else "open it for bytes, not for text"
        )
    if callable(attribute(x, "as_py")):
        return f"pass `interchange.xp.asarray(x.as_py())`, {NEW}"
    return None


def memory_of(x: Any) -> str | None:
    """Return the code for the buffer of an object that holds one; "" for a text file."""
    if isinstance(attribute(x, "buf"), memoryview):
        return "x.buf"
    if not isinstance(x, _FILE):
        return None
    if isinstance(x, _TEXT):
        return ""
    if callable(getattr(x, "getbuffer", None)):
        return "x.getbuffer()"
    if isinstance(x, FileIO) or isinstance(getattr(x, "raw", None), FileIO):
        return "mmap.mmap(x.fileno(), 0, access=mmap.ACCESS_READ)"
    return "x.read()"


def bytes_hint(x: Any, wanted: DType | None) -> str | None:
    """Return the fix for an object without a buffer whose bytes are wanted as some type."""
    code = memory_of(x)
    if code:
        return f"pass its memory, `{code}`"
    hint = sharing_hint(x)  # not for the same call: Arrays have buffers from 3.12 on
    if wanted is not None and hint:
        hint = hint.replace("'uint8'", f"'{wanted}'")
    if wanted is not None and hint == SHARED:
        return f"use `interchange.asarray(x).view('{wanted}')`"
    return hint and hint.replace("pass", "use", 1)


def _of_numbers(x: Any) -> str:
    """Return the call that makes an array of numbers, written out if they are few."""
    text = show(x)
    if is_sequence(x) and len(x) and any(hasattr(x[0], word) for word in ARRAY_WORDS):
        one = "pass one of them, `interchange.asarray(x[0])`"
        return f"{one}, or all, `interchange.xp.asarray(x)`, {NEW}"
    try:
        ast.literal_eval(text)
    except (SyntaxError, ValueError):  # too long, or with objects
        text = "x"
    return f"pass `interchange.xp.asarray({text})`, {NEW}"


def sharing_hint(x: Any) -> str | None:
    """Return `conversion_hint`, or a function for `x` if it supports another protocol."""
    found = conversion_hint(x)
    if found is not None or isinstance(x, type):
        return found
    if not _has_protocol(x):
        return None
    is_text = is_arrow(x) and not is_plain(x)
    return "turn the elements into plain numbers first" if is_text else SHARED


def _has_protocol(x: Any) -> bool:
    """Whether an object, not a class, supports a protocol."""
    words = (*ARRAY_WORDS, *_OTHER_WORDS)
    return any(attribute(x, word) is not None for word in words) or has_buffer(x)


_OTHER_WORDS: Final = ("__cuda_array_interface__",)


def _leads_to_numbers(x: Any) -> bool:
    """Whether the first element of nested sequences is a number or an array."""
    for _ in range(_DEEPEST):  # a list may contain itself
        if not is_sequence(x) or not len(x):
            break
        x = x[0]
    if is_sequence(x):
        return not len(x)
    return isinstance(x, _NUMBERS) or any(hasattr(x, word) for word in ARRAY_WORDS)


def library_hint(x: Any) -> str | None:
    """Return what the library of `x` needs if `x` has no elements yet, such as a tracer."""
    for library in libraries_of(type(x)):
        found = None if library.hint is None else library.hint(x)
        if found is not None:
            return found
    return None


# ---------------------------------------------------------------- tables and columns


def is_arrow(x: Any) -> bool:
    """Whether `x` exports Arrow arrays: a table, a column, a stream of tables."""
    return not isinstance(x, type) and supports_arrow(x)


def is_plain(column: Any) -> bool:
    """Whether the elements of a column are stored as plain numbers."""
    kind = attribute(column, "dtype")
    return str(attribute(column, "type") if kind is None else kind).lower() in _PLAIN


def _of_arrow(x: Any) -> str | None:
    """Return which part of a table, a column or a stream can be passed."""
    names = names_of(x)
    has_array_method = attribute(x, "__array__") is not None
    if len(names) > 1 or (names and has_array_method):
        return one_column(x, names)
    if attribute(x, "read_all") is not None:
        return "read it with `x.read_all()`, and pass one column"
    if not has_array_method:
        return _COLUMN
    return _of_chunks(x, "x") if is_plain(x) else None


def names_of(x: Any) -> list[Any]:
    """Return the names of the columns of a table; none for other objects."""
    axes = attribute(x, "ndim")
    if axes is not None and axes != _TWO:
        return []
    for word in ("column_names", "columns"):
        names = attribute(x, word)
        if names is not None:
            return list(names)
    return []


def one_column(x: Any, names: list[Any]) -> str:
    """Return which column of a table can be passed: the first of plain numbers."""
    for name in names:
        column = x[name]
        if isinstance(name, str) and is_plain(column):
            hint = _of_chunks(column, f"x[{name!r}]") or f"pass `interchange.asarray(x[{name!r}])`"
            return hint.replace("pass ", "pass one column, ", 1)
    return "turn a column into plain numbers, and pass it"


def _of_chunks(column: Any, said: str) -> str | None:
    """Return how to make one array of the chunks of a column; None if it has one chunk."""
    chunks = attribute(column, "num_chunks")
    if attribute(column, "combine_chunks") is None or column.null_count:
        return None
    if chunks == 1:
        return f"pass `interchange.asarray({said}.chunk(0))`"
    return f"pass `interchange.asarray({said}.combine_chunks())`, which copies the chunks into one"


# ---------------------------------------------------------------- nulls, and arguments

_KINDS: Final = (("bool", "bool"), ("float|double|halffloat", "float"), ("u?int", "int"))
_TEXTS: Final = re.compile("str|large_str|utf|binary|object|null|list|struct|array")


def kind_of(x: Any) -> str:
    """Return the kind of elements of a column: "bool", "int", "float", or "other" with a storage.

    "" for tables and unknown columns, "text" for elements of no fixed width.
    """
    kind = attribute(x, "dtype")
    said = str(attribute(x, "type") if kind is None else kind).lower()
    if attribute(x, "columns") is not None or said == "none":
        return ""
    if _TEXTS.match(said):
        return "text"
    return next((name for form, name in _KINDS if re.match(form, said)), "other")


_CODE: Final = re.compile(r"`[^`]*`")
_X: Final = re.compile(r"(?<![\w.'\"])x(?![\w=])")


def hint_for_argument(hint: str, name: str) -> str:
    """Return a hint whose code has the name of an argument in place of ``x``.

    Examples
    --------
    >>> hint_for_argument("pass `xp.asarray(x, copy=True)`, which copies", "points")
    'pass `xp.asarray(points, copy=True)`, which copies'
    """
    return _CODE.sub(lambda code: _X.sub(lambda _: name, code[0]), hint)
