/* The unwinder, loaded when something is first unwound: a panic, a thread that is cancelled in a hook. To have it loaded
 * with the library costs each program that starts more than all the rest of the library does, since its initialiser asks
 * the processor what it is, which traps in a virtual machine. The C library loads it in the same way. There is still one
 * unwinder in the process: these functions only lead to it. */
#include <dlfcn.h>
#include <stdlib.h>

static void *find(void **known, const char *name)
{
    void *address = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (address == NULL) {
        void *library = dlopen("libgcc_s.so.1", RTLD_LAZY);
        address = library == NULL ? NULL : dlsym(library, name);
        if (address == NULL)
            abort();
        __atomic_store_n(known, address, __ATOMIC_RELAXED);
    }
    return address;
}

/* With the types of the C++ ABI's unwind.h, which declares these functions as visible: here they must not stand before
 * those that the program's own libraries call. */
#define LEAD(type, name, parameters, arguments)                           \
    __attribute__((visibility("hidden"))) type name parameters;           \
    type name parameters                                                  \
    {                                                                     \
        static void *known;                                               \
        return ((type(*) parameters)find(&known, #name))arguments;        \
    }

typedef unsigned long word;

LEAD(int, _Unwind_RaiseException, (void *exception), (exception))
LEAD(void, _Unwind_Resume, (void *exception), (exception))
LEAD(void, _Unwind_DeleteException, (void *exception), (exception))
LEAD(int, _Unwind_Backtrace, (void *trace, void *data), (trace, data))
LEAD(word, _Unwind_GetGR, (void *context, int index), (context, index))
LEAD(void, _Unwind_SetGR, (void *context, int index, word value), (context, index, value))
LEAD(word, _Unwind_GetIP, (void *context), (context))
LEAD(word, _Unwind_GetIPInfo, (void *context, int *before), (context, before))
LEAD(void, _Unwind_SetIP, (void *context, word value), (context, value))
LEAD(word, _Unwind_GetCFA, (void *context), (context))
LEAD(void *, _Unwind_GetLanguageSpecificData, (void *context), (context))
LEAD(word, _Unwind_GetRegionStart, (void *context), (context))
LEAD(void *, _Unwind_FindEnclosingFunction, (void *pc), (pc))
LEAD(word, _Unwind_GetDataRelBase, (void *context), (context))
LEAD(word, _Unwind_GetTextRelBase, (void *context), (context))
