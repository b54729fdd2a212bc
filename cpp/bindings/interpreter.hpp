// The calls that may end this thread while the interpreter ends.
//
// Before Python 3.14, the interpreter at its end calls pthread_exit in a daemon thread that waits for the GIL or runs
// Python code. With glibc that unwinds the stack by libgcc's unwinder. Destructors of C++ do not survive it, nor do
// the frames of a compiler that brings another unwinder, such as Clang with libc++. With musl and on macOS the thread
// ends at once, while other threads may still use its stack. So the thread sleeps in these functions until the process
// ends: their file is compiled without exceptions, where a cleanup handler runs before any frame of C++ is unwound.
// Windows ends a thread without any handler.
#pragma once

#include <Python.h>

namespace lapwing::bindings {

// PyEval_RestoreThread
void restore_thread(PyThreadState* state);

// PyGILState_Ensure; a thread that Python does not know sleeps once the interpreter has ended.
PyGILState_STATE ensure_gil();

// PyObject_CallObject
PyObject* call_python(PyObject* callable, PyObject* arguments);

// PyErr_CheckSignals, which may collect garbage, too.
int check_signals();

}  // namespace lapwing::bindings
