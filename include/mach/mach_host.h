/* The host: KERN_INVALID_HOST for another port than mach_host_self(). */
#ifndef MACH_MACH_HOST_H
#define MACH_MACH_HOST_H

#include <mach/host_info.h>
#include <mach/kern_return.h>
#include <mach/message.h>

#ifdef __cplusplus
extern "C" {
#endif

/* *count is the room in words, then what was written. KERN_INVALID_ARGUMENT: too few, or a flavor other than HOST_BASIC_INFO. */
extern kern_return_t host_info(host_t host, int flavor, host_info_t info, mach_msg_type_number_t *count);
/* The time of day. */
extern kern_return_t host_get_time(host_t host, time_value_t *current_time);
extern kern_return_t host_get_time64(host_t host, time_value64_t *current_time);
/* The size of a page in bytes. */
extern kern_return_t host_page_size(host_t host, vm_size_t *page_size);
/* The name, release and version of the system's kernel. Both names are the same call. */
extern kern_return_t host_get_kernel_version(host_t host, kernel_version_t version);
extern kern_return_t host_kernel_version(host_t host, kernel_version_t version);

#ifdef __cplusplus
}
#endif

#endif
