/* The C types behind <mach/std_types.defs>. */
#ifndef MACH_STD_TYPES_H
#define MACH_STD_TYPES_H

#include <mach/boolean.h>
#include <mach/kern_return.h>
#include <mach/message.h>
#include <mach/port.h>
#include <mach/vm_types.h>

#include <stdint.h>

#endif
