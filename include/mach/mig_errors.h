/* What generated stubs return, and the header of their replies. */
#ifndef MACH_MIG_ERRORS_H
#define MACH_MIG_ERRORS_H

#include <mach/kern_return.h>
#include <mach/message.h>

#define MIG_TYPE_ERROR (-300)      /* client: the reply's types are not the interface's */
#define MIG_REPLY_MISMATCH (-301)  /* client: the reply has another identifier */
#define MIG_REMOTE_ERROR (-302)    /* the server found an error */
#define MIG_BAD_ID (-303)          /* server: no routine has this identifier */
#define MIG_BAD_ARGUMENTS (-304)   /* server: the request's types are not the interface's */
#define MIG_NO_REPLY (-305)        /* server: send no reply, it comes later */
#define MIG_EXCEPTION (-306)       /* the server raised an exception */
#define MIG_ARRAY_TOO_LARGE (-307) /* client: the array is larger than the room for it */
#define MIG_SERVER_DIED (-308)     /* client: the request's send-once right came back unused */
#define MIG_DESTROY_REQUEST (-309) /* server: destroy the request, send no reply */

/* A reply's first part: the return code, with its type. */
typedef struct {
    mach_msg_header_t Head;
    mach_msg_type_t RetCodeType;
    kern_return_t RetCode;
} mig_reply_header_t;

/* A generated table of names. */
typedef struct mig_symtab {
    char *ms_routine_name;
    int ms_routine_number;
    void (*ms_routine)(void);
} mig_symtab_t;

/* A routine of a generated server. */
typedef void (*mig_routine_t)(mach_msg_header_t *request, mach_msg_header_t *reply);

MACH_LAYOUT(sizeof(mig_reply_header_t) == 48, "mig_reply_header_t has 48 bytes");

#endif
