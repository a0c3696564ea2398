/* For programs that include the machine's part by itself. */
#include <mach/kern_return.h>
