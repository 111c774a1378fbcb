/* Bits of a torch tensor that its exchange table ignores, read without a call into Python.
 *
 * Source: PyTorch, c10/core/TensorImpl.h and ATen/native; Python's `Tensor._cdata`, the address
 * of a tensor's implementation.  These functions are no public API: they are used only if Python
 * verified them on tensors with and without each bit (_torch_bits.py); otherwise the attributes
 * of the tensor are read. */
#include "torch_bits.h"

#include <string.h>

#define FURTHEST 64 /* [bytes], of an object that are searched for the implementation */

typedef unsigned char (*Bits)(const void *);

static struct {
    size_t offset; /* of the implementation's address in the object, [bytes] */
    Bits requires_grad; /* of an implementation */
    Bits is_neg;        /* of a tensor: the address of such an address */
    Bits is_conj;       /* likewise */
    PyTypeObject *type; /* for which it was verified, or NULL; set last */
} torch;

static int has_bits(const PyObject *tensor)
{
    const char *place = (const char *)tensor + LOAD(torch.offset);
    const void *implementation = *(const void *const *)place;

    return LOAD(torch.requires_grad)(implementation) || LOAD(torch.is_neg)(place) ||
           LOAD(torch.is_conj)(place);
}

int torch_keeps_meaning(const PyObject *tensor)
{
    return is_torch_tensor(tensor) ? !has_bits(tensor) : -1;
}

int is_torch_tensor(const PyObject *object)
{
    return Py_TYPE(object) == LOAD(torch.type);
}

/* find_torch(tensor, its _cdata, the address of each function) -> whether the offset was found. */
static PyObject *find_torch(PyObject *module, PyObject *args)
{
    PyObject *tensor;
    unsigned long long address, functions[3];
    Bits requires_grad, is_neg, is_conj;

    (void)module;
    if (!PyArg_ParseTuple(args, "OKKKK", &tensor, &address, functions, functions + 1,
                          functions + 2))
        return NULL;
    requires_grad = (Bits)(uintptr_t)functions[0];
    is_neg = (Bits)(uintptr_t)functions[1];
    is_conj = (Bits)(uintptr_t)functions[2];
    if (requires_grad == NULL || is_neg == NULL || is_conj == NULL)
        return Py_NewRef(Py_False);
    for (size_t offset = sizeof(PyObject); offset < FURTHEST; offset += sizeof(void *)) {
        uint64_t there;
        memcpy(&there, (const char *)tensor + offset, sizeof there);
        if (there == address) { /* equal each time, since other threads may use them */
            STORE(torch.offset, offset);
            STORE(torch.requires_grad, requires_grad);
            STORE(torch.is_neg, is_neg);
            STORE(torch.is_conj, is_conj);
            return Py_NewRef(Py_True);
        }
    }
    return Py_NewRef(Py_False);
}

/* torch_has_bits(tensor) -> whether it requires a gradient, or has its neg or conj bit set. */
static PyObject *torch_has_bits(PyObject *module, PyObject *tensor)
{
    (void)module;
    return PyBool_FromLong(has_bits(tensor));
}

/* trust_torch(type or None): use the functions for objects of that type. */
static PyObject *trust_torch(PyObject *module, PyObject *type)
{
    (void)module;
    if (type != Py_None && !PyType_Check(type)) {
        PyErr_SetString(PyExc_TypeError, "trust_torch() takes a type or None");
        return NULL;
    }
    set_global((PyObject **)&torch.type, type == Py_None ? NULL : Py_NewRef(type));
    return Py_NewRef(Py_None);
}

PyMethodDef torch_bits_functions[] = {
    {"find_torch", find_torch, METH_VARARGS, "find_torch(tensor, address, *functions): for verification."},
    {"torch_has_bits", torch_has_bits, METH_O, "torch_has_bits(tensor): for verification."},
    {"trust_torch", trust_torch, METH_O,
     "trust_torch(type): use the functions for objects of that type."},
    {NULL, NULL, 0, NULL},
};
