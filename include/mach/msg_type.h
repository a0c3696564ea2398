/* For programs that include it: the message types are in <mach/message.h>. */
#include <mach/message.h>
