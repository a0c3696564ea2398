/* Texts for return codes. */
#ifndef MACH_MACH_ERROR_H
#define MACH_MACH_ERROR_H

#include <mach/kern_return.h>

typedef kern_return_t mach_error_t;

#define ERR_SUCCESS ((mach_error_t) 0)

#ifdef __cplusplus
extern "C" {
#endif

/* What a code means, in words. The text lasts as long as the program, and may not be written. */
extern char *mach_error_string(mach_error_t error_value);
/* The part of the system that the code comes from. */
extern char *mach_error_type(mach_error_t error_value);
/* Writes the given text, a colon, and the code's text to standard error. */
extern void mach_error(const char *text, mach_error_t error_value);

#ifdef __cplusplus
}
#endif

#endif
