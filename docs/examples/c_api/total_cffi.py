"""Build ``_total_cffi``: the sum of an array of doubles of any library, with cffi.

Source: cffi, "Preparing and distributing modules" (API mode, out of line).  Run it to build the
module in a folder: ``python total_cffi.py FOLDER``.

cffi releases the GIL around every call, and the C API needs it: so the calls are made by a few
lines of C that take it.  Nothing is linked: interchange_import() gets the functions from the
capsule.
"""

from __future__ import annotations

import sys

from cffi import FFI

import interchange

SOURCE = r"""
#include <Python.h>
#include <interchange/interchange.h>

static const InterchangeAPI *api;

/* Put the exception that is set into words, and clear it. */
static void say(char *text, size_t room)
{
    PyObject *type, *value, *traceback, *words, *bytes;

    PyErr_Fetch(&type, &value, &traceback);
    words = value == NULL ? NULL : PyObject_Str(value);
    bytes = words == NULL ? NULL : PyUnicode_AsUTF8String(words);
    PyOS_snprintf(text, room, "%s", bytes == NULL ? "unknown" : PyBytes_AsString(bytes));
    Py_XDECREF(bytes);
    Py_XDECREF(words);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    PyErr_Clear();
}

static int view_of(uintptr_t object, InterchangeView *out, char *text, size_t room)
{
    PyGILState_STATE state = PyGILState_Ensure();
    int failed = -1;

    if (api == NULL)
        api = interchange_import();
    if (api != NULL) {
        out->struct_size = sizeof *out;
        out->version = INTERCHANGE_VIEW_VERSION;
        failed = api->view((void *)object, out);
    }
    if (failed)
        say(text, room);
    PyGILState_Release(state);
    return failed;
}

static int release_view(InterchangeView *view, char *text, size_t room)
{
    PyGILState_STATE state = PyGILState_Ensure();
    int failed = api == NULL ? -1 : api->view_release(view);

    if (failed && api != NULL)
        say(text, room);
    PyGILState_Release(state);
    return failed;
}

/* The sum along one axis and those behind it; strides count elements.  The GIL is not held. */
static double sum(const InterchangeView *view, int axis, const double *first)
{
    double total = 0.0;
    int64_t i;

    if (axis == view->ndim)
        return *first;
    for (i = 0; i < view->shape[axis]; i++)
        total += sum(view, axis + 1, first + i * view->strides[axis]);
    return total;
}
"""

DECLARATIONS = """
#define INTERCHANGE_VIEW_UNALIGNED ...

typedef struct {
    uint32_t flags;
    void *data;
    const int64_t *shape;
    const int64_t *strides;
    int32_t ndim;
    int32_t device_type;
    uint8_t dtype_code;
    uint8_t dtype_bits;
    uint16_t dtype_lanes;
    ...;
} InterchangeView;

int view_of(uintptr_t object, InterchangeView *out, char *text, size_t room);
int release_view(InterchangeView *view, char *text, size_t room);
double sum(const InterchangeView *view, int axis, const double *first);
"""


def build(folder: str) -> str:
    """Compile the module into a folder, and return its path."""
    builder = FFI()
    builder.cdef(DECLARATIONS)
    builder.set_source("_total_cffi", SOURCE, include_dirs=[interchange.get_include()])
    return str(builder.compile(tmpdir=folder))


def total(x: object) -> float:
    """Return the sum of the elements, by the module that was built."""
    from _total_cffi import ffi, lib

    view, text = ffi.new("InterchangeView *"), ffi.new("char[]", 500)
    if lib.view_of(id(x), view, text, 500):
        raise TypeError(ffi.string(text).decode())
    try:
        if (view.device_type, view.dtype_code, view.dtype_bits, view.dtype_lanes) != (1, 2, 64, 1):
            raise TypeError("total() takes doubles in memory of the host")
        if view.flags & lib.INTERCHANGE_VIEW_UNALIGNED:
            raise ValueError("total() takes aligned doubles")
        return lib.sum(view, 0, ffi.cast("double *", view.data)) if view.data else 0.0
    finally:
        lib.release_view(view, text, 500)


if __name__ == "__main__":
    build(sys.argv[1])
