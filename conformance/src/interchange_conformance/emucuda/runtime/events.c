/* Events. */
#include "runtime.h"

RUN(cudaEventCreate, (CUevent * event), cuEventCreate(event, CU_EVENT_DEFAULT))
RUN(cudaEventCreateWithFlags, (CUevent * event, unsigned flags), cuEventCreate(event, flags))
RUN(cudaEventDestroy, (CUevent event), cuEventDestroy(event))
RUN(cudaEventRecord, (CUevent event, CUstream stream), cuEventRecord(event, stream))
RUN(cudaEventRecordWithFlags, (CUevent event, CUstream stream, unsigned flags),
    cuEventRecordWithFlags(event, stream, flags))
RUN(cudaEventQuery, (CUevent event), cuEventQuery(event))
RUN(cudaEventSynchronize, (CUevent event), cuEventSynchronize(event))
RUN(cudaEventElapsedTime, (float *milliseconds, CUevent start, CUevent end),
    cuEventElapsedTime(milliseconds, start, end))
RUN(cudaIpcGetEventHandle, (CUipcEventHandle * handle, CUevent event),
    cuIpcGetEventHandle(handle, event))
RUN(cudaIpcOpenEventHandle, (CUevent * event, CUipcEventHandle handle),
    cuIpcOpenEventHandle(event, handle))
