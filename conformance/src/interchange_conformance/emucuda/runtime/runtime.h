/* The CUDA runtime library, on the driver API: its common calls.
 *
 * It is a libcudart.so for programs that call the runtime API, and calls nothing but the documented
 * driver API. Kernels of a compiler are not there, and neither are textures, graphs and properties:
 * a program that needs them is not loaded.
 *
 * cuda_runtime_api.h is not needed: enumerations are int, and handles and structures are those of
 * the driver, which the documents allow to exchange ("Interactions with the CUDA Driver API").
 */
#pragma once

#define _GNU_SOURCE
#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADDRESS(pointer) ((CUdeviceptr)(uintptr_t)(pointer))

#define RUNTIME __attribute__((visibility("default"))) int

/* Initialises, and makes the primary context of the thread's device current if there is none. */
CUresult runtime_enter(void);
CUresult runtime_select(int device); /* for this thread */
int runtime_end(CUresult status);    /* the error of a call, which is kept */
int runtime_last_error(bool clear);

/* An entry point that is one call of the driver. */
#define RUN(name, parameters, call)                               \
    RUNTIME name parameters                                       \
    {                                                             \
        CUresult status_ = runtime_enter();                       \
        return runtime_end(status_ == CUDA_SUCCESS ? (call) : status_); \
    }
