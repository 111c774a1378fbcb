/* Arguments of launches: what they are like, and the Arrays of other libraries' objects.
 *
 * Source: interchange.cuda.consumer, `Use.take`, which does this for all other objects: objects on
 * the host are imported as by asarray(); those on a GPU by their exchange table, or their record of
 * the CUDA Array Interface, without ordering. */
#include "launch_arguments.h"

#include "arrow_read.h"
#include "asarray.h"
#include "cai.h"
#include "exchange.h"
#include "known_types.h"
#include "spec.h"

#define ALIGNMENT 7 /* mask of addresses: a multiple of 8 is aligned for every type */
#define LEGACY_DEFAULT_STREAM 1
#define BY_HOST 1 /* ways, of `Given.tried` */
#define BY_DEVICE 2

/* ---------------------------------------------------------------- import */

/* The stream of a table's library, which is not named by the array. */
static int current_stream(const DLPackExchangeAPI *table, const Array *array, int64_t *out)
{
    void *found = NULL;

    if (array->device.device_type != DL_CUDA || table->current_work_stream == NULL ||
        table->current_work_stream(DL_CUDA, array->device.device_id, &found) != 0)
        return 0;
    *out = found == NULL ? LEGACY_DEFAULT_STREAM : (int64_t)(uintptr_t)found;
    return 1;
}

static Array *by_exchange_table(PyObject *x, const KnownType *known, int64_t *stream)
{
    const DLPackExchangeAPI *table = table_of(known, x);
    Array *self = table == NULL ? NULL
                                : import_by_table(x, table, core.array_type, core.asarray_text);

    if (self == NULL || (fill_dims(self) == 0 && current_stream(table, self, stream)))
        return self;
    Py_DECREF(self);
    return NULL;
}

static Array *by_cuda_record(PyObject *x, int64_t *stream)
{
    PyObject *record = PyObject_GetAttr(x, core.n_cuda_record);
    Array *self = record == NULL ? NULL : read_cuda_record(x, record, stream);

    Py_XDECREF(record);
    return self;
}

static Array *from_device(PyObject *x, int64_t *stream)
{
    KnownType known = look_up_type(Py_TYPE(x));

    if (!known.is_known || LOAD(core.logs_exchanges))
        return NULL;
    if (known.table != NULL)
        return by_exchange_table(x, &known, stream);
    return known.is_plain ? by_cuda_record(x, stream) : NULL;
}

static Array *from_host(PyObject *x)
{
    Array *self = try_fast_share(x);
    PyObject *column;

    if (self != NULL || PyErr_Occurred() ||
        !(look_up_type(Py_TYPE(x)).column & COLUMN_IS_LAUNCHED) || LOAD(core.logs_exchanges))
        return self;
    column = read_column(x, 1);
    if (column != NULL && Py_TYPE(column) != core.array_type)
        Py_CLEAR(column);
    return (Array *)column;
}

Array *array_given(PyObject *value, int32_t device_type, Given *given)
{
    int way = device_type == DL_CPU ? BY_HOST : BY_DEVICE;

    if (given->array != NULL || (given->tried & way))
        return given->array;
    given->tried |= way;
    if (Py_TYPE(value) == core.array_type) {
        given->array = (Array *)Py_NewRef(value);
    } else if (Py_TYPE(value) != core.capsule_type) { /* which would be consumed */
        given->is_foreign = 1;
        given->array = way == BY_HOST ? from_host(value) : from_device(value, &given->stream);
    }
    return given->array;
}

void drop_given(Given *given, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        Py_CLEAR(given[i].array);
}

/* ---------------------------------------------------------------- what they are like */

static int readonly_of(const Array *array)
{
    int64_t flags = LOAD(array->flags);

    return flags == FLAGS_UNKNOWN ? -1 : (flags & DLPACK_READ_ONLY) != 0;
}

/* Whether `dims` are set; 0 without an exception: ask Python. */
static int has_fields(Array *array)
{
    if (LIKELY(LOAD(array->dims) != NULL))
        return 1;
    if (LOAD(array->spec) == NULL)
        return 0;
    if (fill_dims(array) == 0)
        return 1;
    PyErr_Clear();
    return 0;
}

int is_like(const Argument *wanted, Array *array)
{
    return has_fields(array) && array->dtype == wanted->dtype && array->ndim == wanted->ndim &&
           array->device.device_type == wanted->device.device_type &&
           array->device.device_id == wanted->device.device_id &&
           readonly_of(array) == wanted->is_readonly &&
           (int)((uintptr_t)array->ptr & ALIGNMENT) == wanted->misaligned &&
           is_dense(array, 1) == wanted->in_c_order;
}

int read_argument(PyObject *given, Argument *out)
{
    PyObject *value, *described;
    int is_column = 0;
    const char *kind;
    Array *array;

    if (!PyArg_ParseTuple(given, "OO|p", &value, &described, &is_column))
        return -1;
    if (Py_TYPE(described) != core.array_type) {
        if (!PyArg_ParseTuple(described, "Osi", &out->type, &kind, &out->number.itemsize)) {
            out->type = NULL;
            return -1;
        }
        Py_INCREF(out->type);
        out->number.kind = kind[0];
        return 1;
    }
    array = (Array *)described;
    if (fill_dims(array) < 0 || (value != described && learn_shared(value, described) < 0))
        return -1;
    if (is_column) {
        if (learn_column_type(value) < 0 || learn_column(value, described) < 0)
            return -1;
        launch_columns(Py_TYPE(value));
    }
    out->dtype = Py_NewRef(array->dtype);
    out->device = array->device;
    out->ndim = array->ndim;
    out->in_c_order = is_dense(array, 1);
    out->is_readonly = readonly_of(array);
    out->misaligned = (int)((uintptr_t)array->ptr & ALIGNMENT);
    return 1 + 2 * array->ndim;
}

void drop_argument(Argument *argument)
{
    Py_XDECREF(argument->type);
    Py_XDECREF(argument->dtype);
}
