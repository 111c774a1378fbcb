/* Streams. */
#include "runtime.h"

RUN(cudaStreamCreate, (CUstream * stream), cuStreamCreate(stream, CU_STREAM_DEFAULT))
RUN(cudaStreamCreateWithFlags, (CUstream * stream, unsigned flags), cuStreamCreate(stream, flags))
RUN(cudaStreamCreateWithPriority, (CUstream * stream, unsigned flags, int priority),
    cuStreamCreateWithPriority(stream, flags, priority))
RUN(cudaStreamDestroy, (CUstream stream), cuStreamDestroy(stream))
RUN(cudaStreamSynchronize, (CUstream stream), cuStreamSynchronize(stream))
RUN(cudaStreamQuery, (CUstream stream), cuStreamQuery(stream))
RUN(cudaStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags),
    cuStreamWaitEvent(stream, event, flags))
RUN(cudaStreamGetFlags, (CUstream stream, unsigned *flags), cuStreamGetFlags(stream, flags))
RUN(cudaStreamGetPriority, (CUstream stream, int *priority), cuStreamGetPriority(stream, priority))
RUN(cudaStreamGetId, (CUstream stream, unsigned long long *id), cuStreamGetId(stream, id))
RUN(cudaStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus *status),
    cuStreamIsCapturing(stream, status))
RUN(cudaLaunchHostFunc, (CUstream stream, CUhostFn function, void *argument),
    cuLaunchHostFunc(stream, function, argument))
