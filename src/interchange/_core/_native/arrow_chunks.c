/* Plain chunks of a column, which are joined: on the host, without nulls or variable lists.
 *
 * Source: The Arrow C data interface, ArrowArray; Arrow columnar format, Physical memory layout.
 * Other chunks, and invalid ones, are read in Python, which raises the errors. */
#include "arrow_chunks.h"

#include "arrow.h"
#include "dlpack_abi.h"

#define MOST_LEVELS 64

/* The type of a column: of each level, how many elements of the next one its element has. */
typedef struct {
    int levels;
    int64_t each[MOST_LEVELS], itemsize;
} Type;

/* An address and a size [bytes]. */
typedef struct {
    uint64_t address, nbytes;
} Values;

/* The struct of a chunk on the host without an event; NULL for others. */
static const struct ArrowArray *array_on_host(PyObject *owner)
{
    const struct ArrowDeviceArray *device;
    AnyArrow *arrow = owned_arrow(owner, ARROW_ARRAY);

    if (arrow != NULL)
        return &arrow->array;
    PyErr_Clear();
    arrow = owned_arrow(owner, ARROW_DEVICE_ARRAY);
    if (arrow == NULL)
        return NULL;
    device = &arrow->device_array;
    return device->device_type == DL_CPU && device->sync_event == NULL ? &device->array : NULL;
}

/* Find the values of a chunk; 0 where it is not plain. */
static int find_values(const struct ArrowArray *node, const Type *type, int64_t *rows, Values *out)
{
    int64_t start = 0, stop = node->length;

    *rows = node->length;
    for (int level = 0;; level++) {
        int has_child = level + 1 < type->levels;
        if (!is_plain_node(node, has_child ? 1 : 2, has_child) || stop > node->length ||
            multiply_overflows(start + node->offset, type->each[level], &start) ||
            multiply_overflows(stop + node->offset, type->each[level], &stop))
            return 0;
        if (!has_child)
            break;
        node = node->children[0];
    }
    if (multiply_overflows(start, type->itemsize, &start) ||
        multiply_overflows(stop, type->itemsize, &stop) ||
        (stop > start && node->buffers[1] == NULL))
        return 0;
    out->address = (uint64_t)(uintptr_t)node->buffers[1];
    if ((uint64_t)stop > UINT64_MAX - out->address)
        return 0;
    out->address += (uint64_t)start;
    out->nbytes = (uint64_t)(stop - start);
    return 1;
}

static int read_type(PyObject *each, Type *out)
{
    Py_ssize_t levels = PyTuple_Size(each);

    if (levels < 1 || levels > MOST_LEVELS)
        return 0;
    out->levels = (int)levels;
    for (Py_ssize_t i = 0; i < levels; i++)
        out->each[i] = PyLong_AsLongLong(PyTuple_GetItem(each, i));
    return 1;
}

/* Find the values of all chunks; -1 with an exception, 0 where one of them is not plain. */
static int find_all(PyObject *chunks, const Type *type, int64_t *rows, Values *out)
{
    for (Py_ssize_t i = 0; i < PyList_Size(chunks); i++) {
        const struct ArrowArray *node = array_on_host(PyList_GetItem(chunks, i));
        int64_t more;
        if (node == NULL)
            return PyErr_Occurred() ? -1 : 0;
        if (!find_values(node, type, &more, out + i) || add_overflows(*rows, more, rows))
            return 0;
    }
    return 1;
}

/* plain_blocks(chunks, each, itemsize) */
static PyObject *plain_blocks(PyObject *module, PyObject *args)
{
    PyObject *chunks, *each, *blocks, *found = NULL;
    long long itemsize;
    int64_t rows = 0;
    Type type;
    int is_plain = 0;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!L:plain_blocks", &PyList_Type, &chunks, &PyTuple_Type, &each,
                          &itemsize))
        return NULL;
    type.itemsize = itemsize;
    blocks = PyBytes_FromStringAndSize(NULL, PyList_Size(chunks) * (Py_ssize_t)sizeof(Values));
    if (blocks == NULL)
        return NULL;
    if (read_type(each, &type))
        is_plain = find_all(chunks, &type, &rows, (Values *)(void *)PyBytes_AsString(blocks));
    if (PyErr_Occurred() == NULL)
        found = is_plain ? Py_BuildValue("(LO)", (long long)rows, blocks) : Py_NewRef(Py_None);
    Py_DECREF(blocks);
    return found;
}

PyMethodDef arrow_chunks_functions[] = {
    {"plain_blocks", plain_blocks, METH_VARARGS,
     "plain_blocks(chunks, each, itemsize): see interchange._core.core_protocol."},
    {NULL, NULL, 0, NULL},
};
