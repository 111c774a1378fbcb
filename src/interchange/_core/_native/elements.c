/* Element types and their dtype objects, which are registered once and kept forever.
 *
 * Source: dlpack.h 1.3, DLDataType. */
#include "elements.h"

#define ELEMENT_SLOTS 128 /* a power of 2, more than there are element types of one lane */
#define MOST_ELEMENTS 96
#define OPAQUE_HANDLE 3 /* kDLOpaqueHandle */

typedef struct {
    PyObject *dtype;
    DLDataType type;
    int32_t itemsize;
} Element;

/* Each slot is filled once, its `dtype` last. */
static Element elements[ELEMENT_SLOTS];
static int element_count;
STATIC_LOCK(learning);

static uint32_t key_of(DLDataType type)
{
    return ((uint32_t)type.code << 24) | ((uint32_t)type.bits << 16) | type.lanes;
}

/* The slot of a type, filled where `dtype` is set. */
static inline Element *element_slot(DLDataType type, PyObject **dtype)
{
    uint32_t key = key_of(type), i = (key * 2654435761u) >> 25;

    while ((*dtype = LOAD(elements[i].dtype)) != NULL && key_of(elements[i].type) != key)
        i = (i + 1) & (ELEMENT_SLOTS - 1);
    return &elements[i];
}

PyObject *element_type(DLDataType type, int32_t *itemsize)
{
    PyObject *dtype;
    const Element *found = element_slot(type, &dtype);

    if (LIKELY(dtype != NULL))
        *itemsize = found->itemsize;
    return dtype;
}

long int_attribute(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(object, name);
    long number = value == NULL ? -1 : PyLong_AsLong(value);

    Py_XDECREF(value);
    return number;
}

int learn_element_type(PyObject *dtype, DLDataType *out, int32_t *itemsize)
{
    long code = int_attribute(dtype, core.n_code), bits = int_attribute(dtype, core.n_bits);
    long lanes = int_attribute(dtype, core.n_lanes), size = int_attribute(dtype, core.n_itemsize);
    long padded = int_attribute(dtype, core.n_padded);
    PyObject *known;
    Element *slot;

    if (PyErr_Occurred())
        return -1;
    out->code = (uint8_t)code;
    out->bits = (uint8_t)bits;
    out->lanes = (uint16_t)lanes;
    *itemsize = (int32_t)size;
    if (padded || bits * lanes != 8 * size || code == OPAQUE_HANDLE)
        return 0;
    LOCK(learning);
    slot = element_slot(*out, &known);
    if (known == NULL && element_count < MOST_ELEMENTS) {
        element_count++;
        slot->type = *out;
        slot->itemsize = *itemsize;
        STORE(slot->dtype, Py_NewRef(dtype));
    }
    UNLOCK(learning);
    return 1;
}
