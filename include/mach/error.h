/* Programs expect the error type under this name too. */
#include <mach/mach_error.h>
