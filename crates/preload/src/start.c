/* What the compiler's own start of a library has, and is needed: the library is linked without that, which looks for functions
 * that nobody has, in all libraries of each program that starts. The handle says that functions for exit and for fork are the program's: the
 * library is never unloaded. Weak, because the program of its tests has one. */
__attribute__((visibility("hidden"), weak)) void *__dso_handle = 0;
