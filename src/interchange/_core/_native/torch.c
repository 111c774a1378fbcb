/* The bits of a torch tensor that its exchange table forgets, read without a call into Python.
 *
 * Source: PyTorch, c10/core/TensorImpl.h and ATen/native; Python's `Tensor._cdata`, the address of
 * a tensor's implementation.  None of these functions is promised, so they are used only if Python
 * found them to say the same on tensors with and without each bit (_torch_bits.py); else the
 * tensor's own attributes are asked. */
#include "core.h"

#include <dlfcn.h>
#include <string.h>

#define FURTHEST 64 /* [bytes], where a tensor's object may hold its implementation */

typedef unsigned char (*Bits)(const void *);

static struct {
    size_t offset; /* of the implementation's address in the object, [bytes] */
    Bits requires_grad; /* of an implementation */
    Bits is_neg;        /* of a tensor, which is the address of such an address */
    Bits is_conj;       /* likewise */
    PyTypeObject *type; /* of which it was proven; NULL: of none; set last */
} torch;

static Bits find(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    Bits found;

    if (handle == NULL)
        return NULL;
    *(void **)&found = dlsym(handle, name);
    dlclose(handle); /* it stays loaded: torch has it */
    return found;
}

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

/* find_torch(tensor, its _cdata) -> whether all that is needed was found; nothing is called. */
static PyObject *find_torch(PyObject *module, PyObject *args)
{
    PyObject *tensor;
    unsigned long long address;
    Bits requires_grad, is_neg, is_conj;

    (void)module;
    if (!PyArg_ParseTuple(args, "OK", &tensor, &address))
        return NULL;
    requires_grad = find("libc10.so", "_ZNK3c1010TensorImpl13requires_gradEv");
    is_neg = find("libtorch_cpu.so", "_ZN2at6native6is_negERKNS_6TensorE");
    is_conj = find("libtorch_cpu.so", "_ZN2at6native7is_conjERKNS_6TensorE");
    if (requires_grad == NULL || is_neg == NULL || is_conj == NULL)
        return Py_NewRef(Py_False);
    for (size_t offset = sizeof(PyObject); offset < FURTHEST; offset += sizeof(void *)) {
        uint64_t there;
        memcpy(&there, (const char *)tensor + offset, sizeof there);
        if (there == address) { /* others may be using them: they are the same each time */
            STORE(torch.offset, offset);
            STORE(torch.requires_grad, requires_grad);
            STORE(torch.is_neg, is_neg);
            STORE(torch.is_conj, is_conj);
            return Py_NewRef(Py_True);
        }
    }
    return Py_NewRef(Py_False);
}

/* torch_has_bits(tensor) -> whether it requires a gradient, or is to be negated or conjugated. */
static PyObject *torch_has_bits(PyObject *module, PyObject *tensor)
{
    (void)module;
    return PyBool_FromLong(has_bits(tensor));
}

/* trust_torch(type or None): the functions that were found are used for objects of that type. */
static PyObject *trust_torch(PyObject *module, PyObject *type)
{
    (void)module;
    if (type != Py_None && !PyType_Check(type)) {
        PyErr_SetString(PyExc_TypeError, "trust_torch() takes a type or None");
        return NULL;
    }
    set_for_good((PyObject **)&torch.type, type == Py_None ? NULL : Py_NewRef(type));
    return Py_NewRef(Py_None);
}

PyMethodDef torch_functions[] = {
    {"find_torch", find_torch, METH_VARARGS, "find_torch(tensor, address): for the self-test."},
    {"torch_has_bits", torch_has_bits, METH_O, "torch_has_bits(tensor): for the self-test."},
    {"trust_torch", trust_torch, METH_O, "trust_torch(type): of which its functions are used."},
    {NULL, NULL, 0, NULL},
};
