/* interchange_view_column(): buffers of a column of any library in one C struct.
 *
 * Source: interchange/interchange.h; The Arrow C device data interface; PyCapsule interface.  Objects
 * of known types are asked here, all others by _functions/c_requests.py.  On failure nothing was
 * written to the caller's struct. */
#include "c_columns.h"

#include "array.h"
#include "arrow_read.h"
#include "column_levels.h"
#include "errors.h"
#include "known_types.h"

#include <stdlib.h>
#include <string.h>

static const char VIEW_COLUMN[] = "interchange_view_column()";
static const char RELEASE[] = "interchange_column_release()";

_Static_assert(sizeof(void *) != 8 || sizeof(InterchangeColumn) == 528,
               "version 1 has this size");

/* What a filled struct owns. */
typedef struct {
    ArrowKind kind; /* of `array` */
    AnyArrow schema, array;
} Owned;

static int check_struct(const InterchangeColumn *column, const char *call)
{
    if (UNLIKELY(column == NULL))
        return refuse_null(call, "the column");
    if (LIKELY(column->struct_size == sizeof *column &&
               column->version == INTERCHANGE_COLUMN_VERSION))
        return 0;
    return refuse_version(call, "the column", column->version, column->struct_size,
                          INTERCHANGE_COLUMN_VERSION, sizeof *column, "IX-CAPI-1");
}

static void release_owned(Owned *owned)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    release_arrow(owned->kind, &owned->array);
    release_arrow(ARROW_SCHEMA, &owned->schema);
    free(owned);
    PyErr_Restore(type, value, traceback);
}

/* Move what Python took: name, owner of the schema, owner of the array or None. */
static int move_taken(PyObject *taken, Owned *out)
{
    PyObject *schema, *array;
    const char *name;
    AnyArrow *from;

    if (!PyArg_ParseTuple(taken, "yOO:column", &name, &schema, &array))
        return -1;
    out->kind = arrow_kind(name);
    if ((from = owned_arrow(schema, ARROW_SCHEMA)) == NULL)
        return -1;
    move_arrow(ARROW_SCHEMA, from, &out->schema);
    if (array == Py_None)
        return 0;
    if ((from = owned_arrow(array, out->kind)) == NULL)
        return -1;
    move_arrow(out->kind, from, &out->array);
    return 0;
}

/* Take schema and array of an object. */
static int take_column(PyObject *x, Owned *out)
{
    int found = take_pair(x, &out->kind, &out->schema, &out->array);
    PyObject *taken;

    if (found != 0)
        return found < 0 ? -1 : 0;
    taken = call_for_c("column", Py_BuildValue("(Os)", x, VIEW_COLUMN));
    if (taken == NULL)
        return -1;
    found = move_taken(taken, out);
    Py_DECREF(taken);
    if (found == 0 && !PyTuple_Check(x) && Py_TYPE(x) != core.capsule_type && !is_array(x))
        found = learn_column_type(x);
    return found;
}

/* Note where the memory is; whether the host may read it, or -1 with an exception. */
static int read_device(const Owned *owned, InterchangeColumn *out)
{
    const struct ArrowDeviceArray *device = &owned->array.device_array;
    int64_t id = device->device_id;
    char what[80];

    out->device_type = DL_CPU;
    if (owned->kind != ARROW_DEVICE_ARRAY || device->array.release == NULL)
        return 1;
    out->device_type = device->device_type;
    out->sync_event = device->sync_event;
    if (device->device_type == DL_CPU)
        return device->sync_event == NULL;
    if (device->device_type < DL_CPU || id < -1 || id > INT32_MAX) {
        PyOS_snprintf(what, sizeof what, "device_type is %ld, and device_id %lld",
                      (long)device->device_type, (long long)id);
        return raise_by_rule("error_for", VIEW_COLUMN, what, "ARROW-DEVICE-1");
    }
    out->device_id = id < 0 ? 0 : (int32_t)id;
    return 0;
}

static int read_owned(const Owned *owned, InterchangeColumn *out)
{
    const struct ArrowArray *array = owned->array.array.release == NULL ? NULL
                                                                        : &owned->array.array;
    int is_on_host = read_device(owned, out);

    if (is_on_host < 0)
        return -1;
    return read_levels(&owned->schema.schema, array, is_on_host, out, VIEW_COLUMN);
}

int interchange_view_column(void *object, InterchangeColumn *out)
{
    InterchangeColumn found = INTERCHANGE_COLUMN_INIT;
    Owned *owned;

    if (UNLIKELY(check_struct(out, VIEW_COLUMN) < 0))
        return -1;
    if (UNLIKELY(object == NULL))
        return refuse_null(VIEW_COLUMN, "the object");
    if (UNLIKELY(out->self == out))
        return refuse_caller(VIEW_COLUMN, "the column is already filled; release it first");
    owned = calloc(1, sizeof *owned);
    if (owned == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    owned->kind = ARROW_ARRAY;
    if (take_column(object, owned) < 0 || read_owned(owned, &found) < 0) {
        release_owned(owned);
        return -1;
    }
    *out = found;
    out->owner = owned;
    out->self = out;
    return 0;
}

int interchange_column_release(InterchangeColumn *column)
{
    Owned *owned;

    if (UNLIKELY(check_struct(column, RELEASE) < 0))
        return -1;
    if (UNLIKELY(column->self != column))
        return refuse_caller(RELEASE, column->self == NULL
                                          ? "the column is not filled, or was already released"
                                          : "the struct is a copy, or not initialized");
    owned = column->owner;
    *column = (InterchangeColumn)INTERCHANGE_COLUMN_INIT;
    release_owned(owned);
    return 0;
}
