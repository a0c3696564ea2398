/* What the compiler's own start of a library has, and is needed: the library is linked without that, which looks for functions
 * that nobody has, in all libraries of each program that starts. The handle says that functions for exit and for fork are the program's: the
 * library is never unloaded. Weak, because the program of its tests has one. */
__attribute__((visibility("hidden"), weak)) void *__dso_handle = 0;

/* From glibc 2.32 on. Its address, because it changes. */
extern char __libc_single_threaded __attribute__((weak));
const char *slipway_single_threaded(void) { return &__libc_single_threaded; }
