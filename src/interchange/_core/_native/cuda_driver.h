/* Functions of the CUDA driver that every import and export of device memory needs. */
#ifndef INTERCHANGE_CUDA_DRIVER_H
#define INTERCHANGE_CUDA_DRIVER_H

#include "state.h"

#define MEMORYTYPE_DEVICE 2 /* CU_MEMORYTYPE_DEVICE */
#define EVENT_NUMBER 3      /* of an Event of _streams/device_driver.py: its handle */

typedef struct {
    int (*is_capturing)(void *stream, int *status);
    int (*record)(void *event, void *stream);
    int (*wait)(void *stream, void *event, unsigned int flags);
    int (*attributes)(unsigned int count, int *kinds, void **answers, uint64_t address);
    int (*current_device)(int *ordinal);
} CudaCalls;

/* The driver's attributes of an address. */
typedef struct {
    int error, is_managed, type, ordinal;
    uint64_t start, size; /* of its allocation, [bytes] */
    int was_asked;
} Place;

HIDDEN PyObject *tuple_of_place(const Place *place);
HIDDEN CudaCalls *cuda_calls_of(PyObject *capsule);
HIDDEN void find_place(CudaCalls *calls, uint64_t address, Place *out); /* releases the GIL */
/* Make a stream wait for another, where CudaDriver has ordered both before; 0: ask Python.  `ready`
 * and `targets` are its dicts of the same names. */
HIDDEN int order_known(CudaCalls *calls, PyObject *ready, PyObject *targets, void *producer,
                       void *consumer);
HIDDEN PyObject *item_at_handle(PyObject *dict, void *handle); /* owned; NULL, perhaps with an exception */
HIDDEN int intern_driver_names(void);
extern HIDDEN PyMethodDef cuda_driver_functions[];

#endif
