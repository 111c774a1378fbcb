/* interchange_view_with(): views that meet the demands of a consumer, on its stream.
 *
 * Source: interchange/interchange.h.  Met here are demands on arrays that are as demanded already,
 * and the order of streams that CudaDriver has ordered before.  All else is done by
 * _functions/c_requests.py, which also words the errors. */
#include "requests.h"

#include "asarray.h"
#include "cai.h"
#include "errors.h"
#include "exchange.h"
#include "formats.h"
#include "known_types.h"

#include <string.h>

static const char WITH[] = "interchange_view_with()";
static const char DONE[] = "interchange_view_done()";

#define LAST_DEFAULT_STREAM 2
#define ALL_FLAGS                                                                                  \
    (INTERCHANGE_REQUEST_WRITABLE | INTERCHANGE_REQUEST_COPY_ALLOWED | INTERCHANGE_REQUEST_NOT_NULL)
#define NOT_KNOWN_WRITABLE (INTERCHANGE_VIEW_READ_ONLY | INTERCHANGE_VIEW_WRITABILITY_UNKNOWN)
#define EMPTY_ALIGNMENT 256

_Static_assert(sizeof(void *) != 8 || sizeof(InterchangeRequest) == 80, "version 1 has this size");

static _Alignas(EMPTY_ALIGNMENT) char empty_memory[EMPTY_ALIGNMENT]; /* for INTERCHANGE_REQUEST_NOT_NULL */

/* ---------------------------------------------------------------- the caller's struct */

/* Why a request contradicts itself, or NULL. */
static const char *contradiction(const InterchangeRequest *request)
{
    const uint32_t both = INTERCHANGE_REQUEST_WRITABLE | INTERCHANGE_REQUEST_COPY_ALLOWED;
    int order = request->order;

    if (request->flags & ~ALL_FLAGS)
        return "the request has flags that are not defined";
    if ((request->flags & both) == both)
        return "writable memory and a copy were both requested: what is written would be lost";
    if (request->min_ndim < 0 || request->max_ndim < request->min_ndim ||
        request->max_ndim > MOST_AXES)
        return "the numbers of axes are not 0 <= min_ndim <= max_ndim <= 64";
    if (order != 0 && order != 'C' && order != 'F' && order != 'A')
        return "the order is none of 0, 'C', 'F' and 'A'";
    if (request->alignment & (request->alignment - 1))
        return "the alignment is no power of 2";
    if (request->dtype_count != 0 && request->dtypes == NULL)
        return "there are element types, and the pointer to them is NULL";
    if (request->device_type < 0)
        return "the device type is negative";
    if (request->stream.kind < INTERCHANGE_STREAM_NONE ||
        request->stream.kind > INTERCHANGE_STREAM_DEFAULT)
        return "the kind of the stream is not defined";
    return NULL;
}

static int check_request(const InterchangeRequest *request)
{
    const char *why;

    if (UNLIKELY(request == NULL))
        return refuse_null(WITH, "the request");
    if (UNLIKELY(request->struct_size != sizeof *request ||
                 request->version != INTERCHANGE_REQUEST_VERSION))
        return refuse_version(WITH, "the request", request->version, request->struct_size,
                              INTERCHANGE_REQUEST_VERSION, sizeof *request, "IX-CAPI-3");
    why = contradiction(request);
    return LIKELY(why == NULL) ? 0 : refuse_by_rule(WITH, why, "IX-CAPI-3");
}

/* ---------------------------------------------------------------- demands */

static int has_type(const InterchangeRequest *request, const InterchangeView *view)
{
    const InterchangeDType *type = request->dtypes;

    for (size_t i = 0; i < request->dtype_count; i++, type++)
        if (type->code == view->dtype_code && type->bits == view->dtype_bits &&
            type->lanes == view->dtype_lanes)
            return !(view->flags & INTERCHANGE_VIEW_PADDED);
    return 0;
}

static int is_dense_view(const InterchangeView *view, int from_last)
{
    uint64_t step = 1;

    for (int32_t i = 0; i < view->ndim; i++)
        if (view->shape[i] == 0) /* any strides are contiguous */
            return 1;
    for (int32_t i = 0; i < view->ndim; i++) {
        int32_t axis = from_last ? view->ndim - 1 - i : i;
        if (view->shape[axis] != 1 && (uint64_t)view->strides[axis] != step)
            return 0;
        step *= (uint64_t)view->shape[axis];
    }
    return 1;
}

static int is_aligned(const InterchangeView *view, uint32_t alignment)
{
    return ((uintptr_t)view->data & (alignment - 1)) == 0 && view->device_type != DL_OPENCL &&
           view->device_type != DL_VULKAN && view->device_type != DL_METAL; /* handles */
}

static int meets(const InterchangeRequest *request, const InterchangeView *view)
{
    if (view->ndim < request->min_ndim || view->ndim > request->max_ndim)
        return 0;
    if (request->dtype_count != 0 && !has_type(request, view))
        return 0;
    if (request->device_type != INTERCHANGE_DEVICE_ANY &&
        (request->device_type != view->device_type ||
         (request->device_id >= 0 && request->device_id != view->device_id)))
        return 0;
    if ((request->flags & INTERCHANGE_REQUEST_WRITABLE) && (view->flags & NOT_KNOWN_WRITABLE))
        return 0;
    if (request->alignment > 1 && !is_aligned(view, request->alignment))
        return 0;
    return request->order == 0 || (request->order != 'F' && is_dense_view(view, 1)) ||
           (request->order != 'C' && is_dense_view(view, 0));
}

/* What remains to be done for a view that meets the demands. */
static int finish(const InterchangeRequest *request, InterchangeView *out)
{
    if (UNLIKELY(out->data == NULL) && (request->flags & INTERCHANGE_REQUEST_NOT_NULL))
        out->data = request->alignment > EMPTY_ALIGNMENT ? (void *)(uintptr_t)request->alignment
                                                         : empty_memory;
    return 0;
}

/* A view whose consumer orders its work by itself: view_done() does nothing. */
static void view_unordered(InterchangeView *out)
{
    out->has_stream = 0;
    out->stream = (void *)UINTPTR_MAX;
}

static int view_is_unordered(const InterchangeView *view)
{
    return !view->has_stream && view->stream == (void *)UINTPTR_MAX;
}

/* ---------------------------------------------------------------- Python */

static PyObject *text_of(const char *name)
{
    if (name == NULL)
        return Py_NewRef(Py_None);
    return PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
}

/* Name the argument in the current exception; returns -1. */
static int name_argument(const InterchangeRequest *request)
{
    PyObject *type, *value, *traceback, *found;

    if (request->name == NULL)
        return -1;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    found = call_for_c("named", Py_BuildValue("(ON)", value, text_of(request->name)));
    if (found != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(found), found);
    Py_XDECREF(found);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return -1;
}

static PyObject *types_of(const InterchangeRequest *request)
{
    PyObject *types = PyTuple_New((Py_ssize_t)request->dtype_count), *type;

    for (size_t i = 0; types != NULL && i < request->dtype_count; i++) {
        const InterchangeDType *given = &request->dtypes[i];
        type = Py_BuildValue("(iii)", given->code, given->bits, given->lanes);
        if (type == NULL)
            Py_CLEAR(types);
        else
            PyTuple_SetItem(types, (Py_ssize_t)i, type);
    }
    return types;
}

/* Fill the view with what Python makes of an object, or of the Array that was imported of it
 * (NULL: none was), to meet the demands. */
static int meet_in_python(PyObject *x, PyObject *array, const InterchangeRequest *request,
                          InterchangeView *out)
{
    char order[2] = {(char)request->order, 0};
    PyObject *given = Py_BuildValue("(NNiisiiiI)", text_of(request->name), types_of(request),
                                    request->min_ndim, request->max_ndim, order,
                                    request->device_type, request->device_id,
                                    (request->flags & INTERCHANGE_REQUEST_WRITABLE) != 0,
                                    request->alignment);
    PyObject *args = given == NULL
                         ? NULL
                         : Py_BuildValue("(OOiKiN)", x, array == NULL ? Py_None : array,
                                         request->stream.kind,
                                         (unsigned long long)(uintptr_t)request->stream.handle,
                                         (request->flags & INTERCHANGE_REQUEST_COPY_ALLOWED) != 0,
                                         given);
    PyObject *found = call_for_c("meet", args); /* (Array, function that hands it back or None) */
    int failed;

    if (found == NULL)
        return -1;
    failed = view_lent(found, out);
    Py_DECREF(found); /* the view has its own reference */
    if (!failed && request->stream.kind == INTERCHANGE_STREAM_UNORDERED)
        view_unordered(out);
    return failed ? -1 : finish(request, out);
}

/* The same for a view that was filled, and does not meet them. */
static int refill(PyObject *x, const InterchangeRequest *request, InterchangeView *out)
{
    PyObject *array = view_owner_array(out);
    int failed;

    Py_XINCREF(array);
    failed = interchange_view_release(out) < 0 || meet_in_python(x, array, request, out) < 0;
    Py_XDECREF(array);
    return failed ? -1 : 0;
}

/* ---------------------------------------------------------------- streams */

/* The handle that a kind of stream has on a device. */
static void *handle_of(InterchangeStream stream, int32_t device_type)
{
    switch (stream.kind) {
    case INTERCHANGE_STREAM_HANDLE:
        return stream.handle;
    case INTERCHANGE_STREAM_PER_THREAD:
        return (void *)2;
    case INTERCHANGE_STREAM_DEFAULT:
        return device_type == DL_ROCM ? NULL : (void *)1;
    default:
        return (void *)1;
    }
}

/* Make the stream `later` wait for `earlier`; `by_host`: let the host wait instead. */
static int order(const InterchangeView *view, void *earlier, void *later, int by_host,
                 const char *call)
{
    PyObject *done;

    if (!by_host && view->device_type == DL_CUDA && (uintptr_t)earlier > LAST_DEFAULT_STREAM &&
        (uintptr_t)later > LAST_DEFAULT_STREAM &&
        (earlier == later || order_by_driver(earlier, later)))
        return 0;
    if (PyErr_Occurred())
        return -1;
    done = call_for_c("order", Py_BuildValue("(iiKKis)", view->device_type, view->device_id,
                                              (unsigned long long)(uintptr_t)earlier,
                                              (unsigned long long)(uintptr_t)later, by_host, call));
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Check and order a view that was filled, of a producer that names its stream. */
static int order_filled(PyObject *x, const InterchangeRequest *request, InterchangeView *out)
{
    if (!meets(request, out))
        return refill(x, request, out);
    if (request->stream.kind == INTERCHANGE_STREAM_UNORDERED) {
        view_unordered(out);
        return finish(request, out);
    }
    if (out->has_stream &&
        order(out, out->stream, handle_of(request->stream, out->device_type), 0, WITH) < 0) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        interchange_view_release(out);
        PyErr_Restore(type, value, traceback);
        return -1;
    }
    return finish(request, out);
}

/* Fill a view of a record of the CUDA Array Interface that is like earlier ones: 1; 0: it is
 * not. */
static int view_record(PyObject *x, InterchangeView *out)
{
    PyObject *record = PyObject_GetAttr(x, core.n_cuda_record);
    int64_t stream = 0;
    Array *self = record == NULL ? NULL : read_cuda_record(x, record, &stream);
    int failed;

    Py_XDECREF(record);
    if (self == NULL) {
        PyErr_Clear(); /* Python asks again, and raises */
        return 0;
    }
    failed = view_array(self, out);
    Py_DECREF(self);
    if (failed)
        return -1;
    out->has_stream = stream != 0;
    out->stream = (void *)(uintptr_t)stream;
    return 1;
}

static int view_on_stream(PyObject *x, const InterchangeRequest *request, InterchangeView *out)
{
    const DLPackExchangeAPI *table;
    KnownType known;
    int found = 0;

    if (Py_TYPE(x) == LOAD(core.ndarray_type) ||
        (is_array(x) && LOAD(((Array *)x)->dims) != NULL && LOAD(((Array *)x)->work) == NULL)) {
        if (interchange_view(x, out) < 0)
            return -1;
        return meets(request, out) ? finish(request, out) : refill(x, request, out);
    }
    if (is_array(x))
        return meet_in_python(x, NULL, request, out);
    known = look_up_type(Py_TYPE(x));
    table = table_of_writable(x);
    if (table != NULL)
        found = view_tensor(x, table, out);
    else if (!PyErr_Occurred() && known.is_known && known.is_plain && known.table == NULL &&
             !LOAD(core.logs_exchanges))
        found = view_record(x, out);
    if (found < 0 || PyErr_Occurred())
        return -1;
    if (found > 0)
        return order_filled(x, request, out);
    return meet_in_python(x, NULL, request, out);
}

/* ---------------------------------------------------------------- long doubles */

static int accepts_long_doubles(const InterchangeRequest *request)
{
    for (size_t i = 0; i < request->dtype_count; i++)
        if (request->dtypes[i].code == INTERCHANGE_DTYPE_LONG_DOUBLE ||
            request->dtypes[i].code == INTERCHANGE_DTYPE_COMPLEX_LONG_DOUBLE)
            return 1;
    return 0;
}

/* After an import that was refused: view long doubles if the request accepts them; returns -1 with
 * the exception otherwise. */
static int view_refused(PyObject *x, const InterchangeRequest *request, InterchangeView *out)
{
    PyObject *type, *value, *traceback;
    int found;

    if (!accepts_long_doubles(request) || !PyErr_ExceptionMatches(PyExc_Exception))
        return name_argument(request);
    PyErr_Fetch(&type, &value, &traceback);
    found = view_long_doubles(x, out);
    if (found == 0) {
        PyErr_Restore(type, value, traceback);
        return name_argument(request);
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    if (found > 0 && meets(request, out))
        return finish(request, out);
    if (found > 0) {
        interchange_view_release(out);
        raise_by_rule("ContractError", WITH,
                      "long doubles do not meet the demands on axes, order, alignment, device or "
                      "writability",
                      "IX-REQUIRE-1");
    }
    return -1;
}

/* ---------------------------------------------------------------- the functions */

int interchange_view_with(void *object, const InterchangeRequest *request, InterchangeView *out)
{
    if (UNLIKELY(check_view(out, WITH) < 0 || check_request(request) < 0))
        return -1;
    if (UNLIKELY(object == NULL))
        return refuse_null(WITH, "the object");
    if (UNLIKELY(out->self == out))
        return refuse_caller(WITH, "the view is already filled; release it first");
    if (request->stream.kind != INTERCHANGE_STREAM_NONE)
        return view_on_stream(object, request, out) < 0 ? view_refused(object, request, out) : 0;
    if (UNLIKELY(interchange_view(object, out) < 0))
        return view_refused(object, request, out);
    if (LIKELY(meets(request, out)))
        return finish(request, out);
    return refill(object, request, out) < 0 ? name_argument(request) : 0;
}

int interchange_view_done(InterchangeView *view, void *stream)
{
    PyObject *lent, *done;

    if (UNLIKELY(check_filled(view, DONE) < 0))
        return -1;
    lent = view_lent_pair(view);
    if (lent != NULL) {
        done = PyObject_CallFunction(PyTuple_GetItem(lent, 1), "Ks",
                                     (unsigned long long)(uintptr_t)stream, DONE);
        Py_XDECREF(done);
        return done == NULL ? -1 : 0;
    }
    if (view->device_type == DL_CPU || view_is_unordered(view))
        return 0;
    return view->has_stream ? order(view, stream, view->stream, 0, DONE)
                            : order(view, stream, NULL, 1, DONE);
}
