/* For programs that include the machine's part by itself. */
#include <mach/vm_param.h>
