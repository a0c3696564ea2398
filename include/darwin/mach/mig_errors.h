/* What generated stubs return, and the front of their replies. */
#ifndef MACH_MIG_ERRORS_H
#define MACH_MIG_ERRORS_H

#include <mach/kern_return.h>
#include <mach/message.h>
#include <mach/ndr.h>

#define MIG_TYPE_ERROR (-300)        /* client: the reply is not the interface's */
#define MIG_REPLY_MISMATCH (-301)    /* client: the reply has another identifier */
#define MIG_REMOTE_ERROR (-302)      /* the server found an error */
#define MIG_BAD_ID (-303)            /* server: no routine has this identifier */
#define MIG_BAD_ARGUMENTS (-304)     /* server: the request is not the interface's */
#define MIG_NO_REPLY (-305)          /* server: send no reply, it comes later */
#define MIG_EXCEPTION (-306)         /* the server raised an exception */
#define MIG_ARRAY_TOO_LARGE (-307)   /* client: the array is larger than the room for it */
#define MIG_SERVER_DIED (-308)       /* client: the request's send-once right came back unused */
#define MIG_TRAILER_ERROR (-309)     /* server: the trailer is not of the format that was asked for */

#pragma pack(push, 4)

typedef struct {
    mach_msg_header_t Head;
    NDR_record_t NDR;
    kern_return_t RetCode;
} mig_reply_error_t;

#pragma pack(pop)

typedef mig_reply_error_t mig_reply_error_struct_t;

MACH_LAYOUT(sizeof(mig_reply_error_t) == 36, "mig_reply_error_t has 36 bytes");

#endif
