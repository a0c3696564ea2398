/* Services by name, under the header's other name. */
#include <mach/bootstrap.h>
