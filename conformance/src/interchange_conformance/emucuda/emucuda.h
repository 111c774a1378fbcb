/* What the sources of the emulated driver share: objects, the one lock, and each source's inner
 * functions.
 *
 * emucuda is a libcuda.so.1 that runs on the host. It follows NVIDIA's documents of the CUDA driver
 * API (the comments of cuda.h, from which comments here quote; "Stream synchronization behavior"
 * and "API synchronization behavior" of the manual; the programming guide on stream capture), and
 * nothing undocumented. A comment that says "choice" marks a point on which they are silent.
 *
 * One lock guards everything. It is never held while an operation of a stream runs, so a host
 * function may take as long as it likes, and it may need Python's interpreter lock.
 */
#ifndef EMUCUDA_H
#define EMUCUDA_H

#define _GNU_SOURCE
/* Declares every version and both flavours of each entry point. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#if CUDA_VERSION < 13000 /* what the header of CUDA 12 has no names for */
#define CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER ((CUresult)36)
#define CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED ((CUdevice_attribute)142)
#define CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED ((CUdevice_attribute)144)
#define CU_MEM_ALLOCATION_TYPE_MANAGED ((CUmemAllocationType)2)
#endif

#define API __attribute__((visibility("default"))) CUresult CUDAAPI
#define CONTROL __attribute__((visibility("default")))
#define MAX_DEVICES 16

#include "driver.h"
#include "detector.h"
#include "memory.h"
#include "streams.h"
#include "graphs.h"
#include "kernels.h"

#endif
