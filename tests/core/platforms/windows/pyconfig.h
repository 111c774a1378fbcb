/* What headers of CPython ask of pyconfig.h on 64-bit Windows, for compiling without running.
 *
 * Source: CPython, PC/pyconfig.h, which headers that are installed elsewhere lack.  Its guard is
 * that of the pyconfig.h beside Python.h, which is thereby not read. */
#ifndef Py_PYCONFIG_H
#define Py_PYCONFIG_H

#define MS_WINDOWS
#define MS_WIN32
#define MS_WIN64
#define NT_THREADS
#define HAVE_DECLSPEC_DLL
#define Py_ENABLE_SHARED

#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_PID_T 4
#define SIZEOF_SIZE_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_VOID_P 8
#define SIZEOF_WCHAR_T 2
#define ALIGNOF_MAX_ALIGN_T 8

#endif
