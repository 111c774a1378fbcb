/* What the sources of the native core share: the Array, its owners, and the state of the module.
 *
 * Source: CPython's stable ABI (limited API 3.10); dlpack.h 1.3.  Every function that can fail
 * returns NULL or -1 with a Python exception set, and is called with the GIL held, unless it says
 * otherwise.  Without a GIL that means: with a thread state attached. */
#ifndef INTERCHANGE_CORE_H
#define INTERCHANGE_CORE_H

#include "locking.h"

#include <structmember.h>

#include "dlpack_abi.h"

#define INLINE_AXES 6 /* shapes up to this length need no memory of their own */
#define MOST_AXES 64
#define FLAGS_UNKNOWN (-1) /* a legacy capsule cannot say whether memory may be written */

/* Headers of CPython 3.12 and newer take None, True and False for immortal in Py_RETURN_NONE and its
 * like, which they are not where an older Python runs the extension: Py_NewRef() counts. */

#define HIDDEN __attribute__((visibility("hidden")))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* What owns the memory of an Array: a struct that it came in, or a storage of torch's. */
typedef enum { OWNS_NOTHING, OWNS_VERSIONED, OWNS_LEGACY, OWNS_ARROW, OWNS_TORCH } Ownership;

/* Threads share it.  What it holds is found out once: `spec` is set last, and so is `dims`, which
 * says that all below it is set.  `owner`, `keep` with `managed`, and `work` may change, under the
 * lock of the object. */
typedef struct {
    PyObject_HEAD
    char *ptr;          /* the first element, or a handle; NULL without elements */
    PyObject *spec;     /* what the memory holds; NULL while the fields below say it */
    PyObject *dtype;    /* set where `dims` is */
    PyObject *owner;    /* who gave the memory, for people to read */
    PyObject *keep;     /* what keeps the memory alive; NULL where `managed` does */
    PyObject *library;  /* (backend, its array, ...), or NULL: see _array/backing.py */
    PyObject *work;     /* where work may be pending, or NULL: nothing is */
    PyObject *weakrefs;
    void *managed;      /* the struct or storage that is owned, or NULL */
    int64_t *dims;      /* shape, strides [elements], and room for strides [bytes], see capi.c;
                           NULL where only `spec` says it */
    int64_t flags;      /* DLPack's, or FLAGS_UNKNOWN */
    int32_t ndim;       /* of `dims` */
    int32_t itemsize;   /* [bytes], of `dtype` */
    DLDataType element; /* of `dtype` */
    DLDevice device;    /* where `dims` is set */
    uint8_t owns;       /* an Ownership, of `managed` */
    uint8_t work_is_record; /* `work` is what a record said: see cai.c */
    int64_t inline_dims[3 * INLINE_AXES];
} Array;

/* Keeps a managed tensor alive that several Arrays or exports share. */
typedef struct {
    PyObject_HEAD
    void *managed;
    uint8_t owns;
} Managed;

/* What the module has found once; Python code of the core gives the callables (`connect`). */
typedef struct {
    PyTypeObject *array_type;
    PyTypeObject *managed_type;
    PyTypeObject *capsule_type;
    PyTypeObject *ndarray_type; /* NULL until its fields were proven to be where they are said */
    PyObject *max_version;      /* (1, 3) */
    PyObject *max_version_names;
    PyObject *cpu;              /* Device("cpu") */
    PyObject *cpu_pair;         /* (1, 0) */
    PyObject *check_struct;     /* f(address, versioned, call) -> (ptr, spec, flags) */
    PyObject *arrived;          /* f(array, call): what follows a capsule from elsewhere */
    PyObject *refuse_capsule;   /* f(object, call) -> error */
    PyObject *spec_of;          /* f(kind, dims) -> Spec */
    PyObject *learn;            /* f(type): calls remember_type() */
    PyObject *negotiate;        /* f(x, **keywords): the Python function behind from_dlpack */
    PyObject *refuse_arrow;     /* f(object, name) -> error */
    PyObject *refuse_stream;    /* f(name or None, what) -> error: released, or lacks a function */
    PyObject *refuse_for_c;     /* f(array, why): raises what C callers are told */
    PyObject *asarray;          /* f(x, **keywords): the Python function behind asarray */
    PyObject *from_dlpack_text; /* "from_dlpack()" */
    PyObject *asarray_text;
    /* names of attributes */
    PyObject *n_dlpack, *n_dlpack_device, *n_shape, *n_strides, *n_dtype, *n_device;
    PyObject *n_byte_offset, *n_code, *n_bits, *n_lanes, *n_itemsize, *n_padded;
    PyObject *n_array, *n_export, *n_max_version, *n_stream, *n_dl_device, *n_copy;
    PyObject *n_requires_grad, *n_is_neg, *n_is_conj, *n_cuda_record;
} Core;

extern HIDDEN Core core;

/* Set a field of an object; what was there is dropped when the field has the new value. */
static inline void set_field(PyObject *object, PyObject **field, PyObject *value)
{
    PyObject *before;

    BEGIN_LOCKED(object);
    before = *field;
    STORE(*field, value);
    END_LOCKED();
    (void)object;
    Py_XDECREF(before);
}

/* What is in a field of an object, or NULL; a new reference. */
static inline PyObject *get_field(PyObject *object, PyObject **field)
{
    PyObject *found;

    BEGIN_LOCKED(object);
    found = Py_XNewRef(*field);
    END_LOCKED();
    (void)object;
    return found;
}

/* Set what all threads use.  Without the GIL what was there stays: somebody may be using it. */
static inline void set_for_good(PyObject **place, PyObject *value)
{
    PyObject *before = EXCHANGE(*place, value);

#ifdef Py_GIL_DISABLED
    (void)before;
#else
    Py_XDECREF(before);
#endif
}

/* Set a field that is set once; 0 where another thread was first, and `value` is dropped. */
static inline int set_once(PyObject **field, PyObject *value)
{
#ifdef Py_GIL_DISABLED
    PyObject *nothing = NULL;

    if (__atomic_compare_exchange_n(field, &nothing, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return 1;
#else
    if (*field == NULL) {
        *field = value;
        return 1;
    }
#endif
    Py_DECREF(value);
    return 0;
}

/* ---- compat.c: what the limited API of 3.10 lacks */
typedef PyObject *(*VectorcallMethod)(PyObject *name, PyObject *const *args, size_t nargsf,
                                      PyObject *names);
extern HIDDEN VectorcallMethod vectorcall_method;
#define ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))
HIDDEN int find_functions(void);
/* Py_buffer, which joined the stable ABI in 3.11 as it was. */
typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize; /* [bytes] */
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets; /* [elements], [bytes], [bytes] */
    void *internal;
} Buffer;
#define BUFFER_FULL_READ_ONLY 0x011C /* PyBUF_FULL_RO */
extern HIDDEN int (*get_buffer)(PyObject *object, Buffer *out, int flags);
extern HIDDEN void (*release_buffer)(Buffer *buffer);
HIDDEN PyObject *call_with_keywords(PyObject *function, PyObject *const *args, Py_ssize_t count,
                                    PyObject *names);
/* A function for users: `doc` is copied, and begins with a signature. */
HIDDEN PyObject *public_function(PyMethodDef *definition, const char *doc, PyObject *module);
HIDDEN int gil_is_held(void);
/* Take the GIL unless it is held; 0 where the interpreter can no longer be asked. */
HIDDEN int take_gil(PyGILState_STATE *state);

/* ---- array.c */
HIDDEN int make_array_type(PyObject *module);
HIDDEN Array *new_array(PyTypeObject *type); /* all fields NULL, 0; flags 0 */
HIDDEN int64_t *room_for_dims(Array *self, int32_t ndim); /* NULL with an exception */
HIDDEN int reserve_dims(Array *self, int32_t ndim);       /* of a fresh Array */
HIDDEN PyObject *array_spec(Array *self);   /* borrowed */
HIDDEN PyObject *array_keep(Array *self);   /* a new reference; None where nothing is needed */
static inline int is_array(PyObject *x)
{
    return Py_TYPE(x) == core.array_type || PyType_IsSubtype(Py_TYPE(x), core.array_type);
}

/* ---- describing.c */
/* Another Array of the same memory; NULL without an exception: not in C. */
HIDDEN Array *alias_on_host(Array *self);
/* Whether elements lie side by side, one axis faster than the next: from the last, or the first. */
HIDDEN int is_dense(const Array *self, int from_last); /* `dims` are set */

HIDDEN Array *computed_array(PyObject *native, PyObject *library, int64_t flags, PyTypeObject *cls);

/* ---- owners.c */
HIDDEN int make_managed_type(PyObject *module);
HIDDEN void delete_managed(void *managed, uint8_t owns); /* keeps an exception in flight */
HIDDEN PyObject *new_managed(void); /* owns nothing yet */
/* Drop a reference that may be one end of a long chain, without recursion. */
HIDDEN void release_later_if_deep(PyObject *object);
/* The same on any thread, with or without the GIL; nothing where Python is gone, or going. */
HIDDEN void let_go_anywhere(PyObject *object);
static inline void let_go(PyObject *object)
{
    if (object != NULL && LIKELY(is_shared(object)))
        Py_DECREF(object);
    else
        release_later_if_deep(object);
}

/* ---- arrow.c */
HIDDEN int make_arrow_owner_type(PyObject *module);
HIDDEN void release_arrow_block(void *block); /* of an ArrowOwner */
extern HIDDEN PyMethodDef arrow_functions[];

/* ---- arrow_export.c */
extern HIDDEN PyMethodDef arrow_export_functions[];

/* ---- reading.c */
/* 1: the struct is an ordinary one, and `into` says what it holds; 0: ask `check_struct`. */
HIDDEN int read_tensor(const DLTensor *tensor, uint64_t flags, Array *into);
HIDDEN int fill_from_struct(Array *self, void *managed, int versioned, PyObject *call);
HIDDEN int fill_dims(Array *self); /* from `spec`, once; -1 on error */
/* 1: all is described, and nobody is at work on the memory; what a library computed tells of work
 * only then.  0: somebody is; -1 on error. */
HIDDEN int is_at_rest(Array *self);
HIDDEN PyObject *element_type(DLDataType type, int32_t *itemsize); /* borrowed, NULL: unknown */
HIDDEN int learn_element_type(PyObject *dtype, DLDataType *out, int32_t *itemsize);
HIDDEN PyObject *spec_from_dims(Array *self);
HIDDEN long attribute(PyObject *object, PyObject *name); /* an int's; -1 may be an error */
HIDDEN int read_extents(const DLTensor *tensor, int64_t itemsize, int64_t *dims, int64_t *low,
                        int64_t *high);
/* The same, and the address of the first element, all of whose bytes can exist. */
HIDDEN int read_place(const DLTensor *tensor, int64_t itemsize, int64_t *dims, char **first);

/* ---- consuming.c */
HIDDEN Array *consume(PyObject *capsule, PyObject *source, PyTypeObject *cls, PyObject *call);
HIDDEN Array *consume_fresh(PyObject *capsule, PyObject *source, PyObject *call);
HIDDEN Array *own_managed(DLManagedTensorVersioned *managed, PyObject *source, PyTypeObject *cls,
                          PyObject *call);
HIDDEN int finish_arrival(Array **array, PyObject *call, int is_of_capsule);
HIDDEN void release_now(Array *self);
extern HIDDEN PyMethodDef describing_functions[];

extern HIDDEN PyMethodDef consuming_functions[];

/* The extents of an array or a buffer of Python's as DLPack has them: `room` where they are
 * narrower. */
static inline int64_t *wide_extents(Py_ssize_t *extents, int ndim, int64_t *room)
{
#if UINTPTR_MAX > UINT32_MAX
    (void)ndim;
    (void)room;
    return (int64_t *)extents;
#else
    for (int i = 0; i < ndim; i++)
        room[i] = extents[i];
    return room;
#endif
}

/* ---- numpy.c */
typedef struct {
    PyObject_HEAD
    char *data;
    int nd;
    Py_ssize_t *dimensions; /* [elements] */
    Py_ssize_t *strides;    /* [bytes] */
    PyObject *base;
    PyObject *descr;
    int flags;
} NDArray;
#define NDARRAY_WRITEABLE 0x0400 /* of `flags` */

/* How a dtype object begins.  None is kept: others of its number and byte order have its elements. */
typedef struct {
    PyObject_HEAD
    PyObject *scalar_type;
    char kind, letter, byteorder, flags;
    int number;
} DescrHead;

/* What is known of the element type that a dtype object has. */
typedef struct {
    PyObject *dtype; /* set last; NULL while it is not known */
    DLDataType element;
    int32_t itemsize;
} Descr;

/* Of an ndarray that may be read where it is; NULL: the ordinary way. */
HIDDEN const Descr *descr_of(PyObject *x);
/* Shape and strides [elements], into room for both; 0: the ordinary way. */
HIDDEN int read_fields(const NDArray *array, const Descr *descr, int64_t *dims);
HIDDEN Array *read_ndarray(PyObject *x); /* NULL without an exception: the ordinary way */
HIDDEN int learn_descr(PyObject *x, Array *found);
extern HIDDEN PyMethodDef numpy_functions[];

/* ---- importing.c */
/* As from_dlpack(x), in the name of `call`; NULL without an exception: negotiate. */
HIDDEN Array *import_straight(PyObject *x, PyObject *call);
/* The order of Sharing in _protocols/capabilities.py. */
typedef enum { SHARE_CAREFULLY, SHARE_BY_DLPACK, SHARE_UNLESS_RECORD, SHARE_BUFFER } Sharing;
HIDDEN Sharing sharing_of(PyTypeObject *type);
HIDDEN int gives_plain_records(PyTypeObject *type);
HIDDEN const DLPackExchangeAPI *table_for(PyObject *x); /* of its type, if it may be asked by it */
/* The same, where a DLTensor says all: of memory that may always be written. */
HIDDEN const DLPackExchangeAPI *table_of_writable(PyObject *x);
HIDDEN int learn_type(PyObject *x); /* how objects of its type are imported, unless it is known */
HIDDEN int is_to_be_raised(void); /* whether the exception is not one to try another way after */
extern HIDDEN PyMethodDef importing_functions[];

/* ---- asarray.c */
HIDDEN PyObject *share(PyObject *x); /* as asarray(x) */
extern HIDDEN PyMethodDef asarray_functions[];

/* ---- checking.c */
HIDDEN int make_checks_type(void);
extern HIDDEN PyMethodDef checking_functions[];

/* ---- buffers.c */
HIDDEN Array *read_buffer(PyObject *x); /* NULL without an exception: the ordinary way */
HIDDEN int learn_format(PyObject *x, Array *found);

/* ---- exporting.c */
/* Flags of an export: who cannot say whether memory may be written, says that it may not. */
static inline uint64_t exported_flags(int64_t flags)
{
    return flags == FLAGS_UNKNOWN ? DLPACK_READ_ONLY : (uint64_t)flags & DLPACK_READ_ONLY;
}
HIDDEN DLManagedTensorVersioned *export_versioned(Array *self, uint64_t flags);
HIDDEN int describe_tensor(Array *self, DLTensor *out); /* dims are those of `self` */
HIDDEN PyObject *array_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *names);
HIDDEN PyObject *array_dlpack_device(PyObject *self, PyObject *unused);
extern HIDDEN PyMethodDef exporting_functions[];

/* ---- exchange.c */
/* Say why an Array, or what is none, is not described to C callers; always -1. */
HIDDEN int refuse_for_c(PyObject *object, const char *why);
extern HIDDEN DLPackExchangeAPI exchange_table;
extern HIDDEN PyMethodDef exchange_functions[];
/* A struct of a table's; NULL without an exception where it makes none. */
HIDDEN DLManagedTensorVersioned *managed_by_table(PyObject *x, const DLPackExchangeAPI *table);
/* The same, owned by an Array. */
HIDDEN Array *import_by_table(PyObject *x, const DLPackExchangeAPI *table, PyTypeObject *cls,
                              PyObject *call);
HIDDEN Array *import_from_torch(PyObject *x); /* NULL without an exception: ask the table */

/* ---- torch.c */
HIDDEN int torch_keeps_meaning(const PyObject *tensor); /* -1: its attributes are to be asked */
HIDDEN int is_torch_tensor(const PyObject *object); /* of the type that was proven */
extern HIDDEN PyMethodDef torch_functions[];

/* ---- torch_fields.c */
HIDDEN int read_tensor_of_torch(PyObject *x, DLTensor *out); /* 0: ask the table, or raise */
/* The storage of what was read, held; NULL without an exception: ask the table. */
HIDDEN void *hold_storage_of_torch(PyObject *x);
HIDDEN int let_go_of_shared(void *storage); /* 0: nobody else holds it, and nothing was done */
HIDDEN void let_go_of_storage(void *storage); /* may run any code */
extern HIDDEN PyMethodDef torch_fields_functions[];

/* ---- cuda.c */
#define MEMORYTYPE_DEVICE 2 /* CU_MEMORYTYPE_DEVICE */

typedef struct {
    int (*is_capturing)(void *stream, int *status);
    int (*record)(void *event, void *stream);
    int (*wait)(void *stream, void *event, unsigned int flags);
    int (*attributes)(unsigned int count, int *kinds, void **answers, uint64_t address);
    int (*current_device)(int *ordinal);
} CudaCalls;

/* What the driver says of an address. */
typedef struct {
    int error, is_managed, type, ordinal;
    uint64_t start, size; /* of its allocation, [bytes] */
    int was_asked;
} Place;

HIDDEN PyObject *tuple_of_place(const Place *place);

HIDDEN CudaCalls *cuda_calls_of(PyObject *capsule);
HIDDEN void find_place(CudaCalls *calls, uint64_t address, Place *out); /* without the GIL */
extern HIDDEN PyMethodDef cuda_functions[];

/* ---- cai.c */
/* A new reference; NULL where nothing is pending, or fails. */
HIDDEN PyObject *array_work(Array *self);
extern HIDDEN PyMethodDef cai_functions[];

/* ---- parameters.c */
#define MOST_SLOTS 128 /* parameters of a launch: an array has one, and two for each axis */

/* A parameter; a kernel reads as many bytes from its start as the type has. */
typedef union {
    uint64_t zeros[2];
    char *address;
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    float f32[2];
    double f64[2];
} Slot;

/* The parameters of a launch, as the driver takes them. */
typedef struct {
    int count;
    void *places[MOST_SLOTS];
    Slot slots[MOST_SLOTS];
} Parameters;

/* What a number is passed as: an interchange.cuda.types.ScalarType. */
typedef struct {
    char kind;        /* the first letter of its kind */
    int32_t itemsize; /* [bytes] */
} Number;

/* Pass pointer, lengths and strides; 0 where those are too large to be told in bytes. */
HIDDEN int pass_array(const Array *array, Parameters *into);
/* 0, without an exception: Python does it, or refuses. */
HIDDEN int pass_number(const Number *wanted, PyObject *value, Parameters *into);

/* ---- operators.c */
HIDDEN int make_operator_type(void);
extern HIDDEN PyMethodDef operator_functions[];

/* ---- launching.c */
extern HIDDEN PyMethodDef launching_functions[];

#endif
