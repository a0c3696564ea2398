/* What generated stubs call. */
#include <mach/mig.h>
