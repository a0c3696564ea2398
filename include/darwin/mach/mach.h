/* What programs of Darwin's dialect have but the name server's calls, which are in <servers/bootstrap.h>. */
#ifndef MACH_MACH_H
#define MACH_MACH_H

#include <mach/exception.h>
#include <mach/mach_error.h>
#include <mach/mach_init.h>
#include <mach/mach_port.h>
#include <mach/mach_time.h>
#include <mach/mach_traps.h>
#include <mach/mach_types.h>
#include <mach/mach_vm.h>
#include <mach/message.h>
#include <mach/mig.h>
#include <mach/mig_errors.h>
#include <mach/notify.h>
#include <mach/semaphore.h>
#include <mach/task_info.h>
#include <mach/thread_act.h>
#include <mach/vm_map.h>

#endif
