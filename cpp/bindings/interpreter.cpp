// Waits for the GIL and calls of Python that sleep if the interpreter ends meanwhile; CMakeLists.txt compiles this file
// without exceptions.
#include "interpreter.hpp"

#if defined(__cpp_exceptions)
#error "With exceptions, cleanup handlers are destructors"
#endif

#if defined(_WIN32)
#include <windows.h>
#else
#include <pthread.h>
#include <unistd.h>
#endif

namespace lapwing::bindings {

namespace {

void sleep_until_the_process_ends(void*) {
#if defined(_WIN32)
    Sleep(INFINITE);
#else
    for (;;) pause();
#endif
}

template <class Call>
auto or_sleep(const Call& call) {
    decltype(call()) answer{};
#if defined(_WIN32)
    answer = call();
#else
    pthread_cleanup_push(sleep_until_the_process_ends, nullptr);
    answer = call();
    pthread_cleanup_pop(0);
#endif
    return answer;
}

}  // namespace

void restore_thread(PyThreadState* state) {
    or_sleep([=] {
        PyEval_RestoreThread(state);
        return true;
    });
}

PyGILState_STATE ensure_gil() {
    if (!Py_IsInitialized() && PyGILState_GetThisThreadState() == nullptr) sleep_until_the_process_ends(nullptr);
    return or_sleep([] { return PyGILState_Ensure(); });
}

PyObject* call_python(PyObject* callable, PyObject* arguments) {
    return or_sleep([=] { return PyObject_CallObject(callable, arguments); });
}

int check_signals() {
    return or_sleep([] { return PyErr_CheckSignals(); });
}

}  // namespace lapwing::bindings
