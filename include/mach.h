/* All of libmach but the name server's calls. */
#include <mach/mach.h>
