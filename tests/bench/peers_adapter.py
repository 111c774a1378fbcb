"""Cases of interchange for a benchmark of many libraries that loads cases from a file.

Source: `budgets`.  The benchmark program runs this file, calls ``bench_cases(env)`` with its sample
arrays, and receives tuples: group, name, statement, the values of the names in it, and the name of
the case that it is compared with.  ``env`` has ``x`` (NumPy), ``tx`` (PyTorch), ``vx`` (tvm-ffi),
``jx`` (JAX), ``sx`` (cuda.core), ``helper`` (a module that loops over the C exchange table) and
``K`` (number of repetitions).  Cases of values that are None or absent there are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import interchange as ix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NUMPY = "np.from_dlpack(np)"
NUMPY_EXPORT = "np.__dlpack__(max_version)"
TORCH_IN_C = "torch: dltensor_from_py_object_no_sync"
SAMPLES = {"np": "x", "torch": "tx", "tvm_ffi": "vx", "jax": "jx", "cuda.core SMV": "sx"}
LOOPS = {
    "dltensor_from_py_object_no_sync": "cx_dltensor",
    "managed_tensor_from_py_object_no_sync + deleter": "cx_managed",
    "managed from + managed_tensor_to_py_object": "cx_roundtrip",
}

Item = tuple[Any, ...]


def bench_cases(env: Mapping[str, Any]) -> list[Item]:
    """Return every case that the samples allow."""
    return [*_imports(env), *_exports(env), *_in_c(env)]


def _imports(env: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the imports by both functions, and reads of an imported array."""
    for label, name in SAMPLES.items():
        sample = env.get(name)
        if sample is None:
            continue
        for function in (ix.from_dlpack, ix.asarray):
            names = {"f": function, "o": sample}
            yield "import", f"interchange.{function.__name__}({label})", "f(o)", names, NUMPY
    if (x := env.get("x")) is not None:
        names = {"f": ix.from_dlpack, "o": x, "version": (1, 3)}
        statement = "a = f(o); a.shape; a.strides; a.dtype"
        yield "import", "interchange.from_dlpack(np) + shape,strides,dtype", statement, names, NUMPY
        statement = "f(o.__dlpack__(max_version=version))"
        yield "import", "interchange.from_dlpack(capsule)", statement, names, NUMPY


def _exports(env: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the exports of an array that was imported."""
    if (x := env.get("x")) is None:
        return
    names = {"a": ix.from_dlpack(x), "version": (1, 3)}
    for label, statement in (
        ("__dlpack__(max_version)", "a.__dlpack__(max_version=version)"),
        ("__dlpack__()", "a.__dlpack__()"),
        ("__dlpack_device__()", "a.__dlpack_device__()"),
    ):
        yield "export", f"interchange {label}", statement, names, NUMPY_EXPORT
    if (numpy := env.get("np")) is not None:
        names = {"a": names["a"], "f": numpy.from_dlpack}
        yield "export", "np.from_dlpack(interchange)", "f(a)", names, NUMPY


def _in_c(env: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the functions of the C exchange table."""
    helper, x, count = (env.get(name) for name in ("helper", "x", "K"))
    if helper is None or x is None or not hasattr(ix.Array, "__dlpack_c_exchange_api__"):
        return
    for label, loop in LOOPS.items():
        names = {"f": getattr(helper, loop), "o": ix.from_dlpack(x), "K": count}
        yield "C exchange API", f"interchange: {label}", "f(o, K)", names, TORCH_IN_C, count
