#include "check.h"

#include <mach/bootstrap.h>
#include <mach/mach.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

atomic_int checks_made, checks_failed;

#define NAME(code) {code, #code}

static const struct {
    int code;
    const char *name;
} names[] = {
    NAME(KERN_SUCCESS), NAME(KERN_INVALID_ADDRESS), NAME(KERN_PROTECTION_FAILURE), NAME(KERN_NO_SPACE),
    NAME(KERN_INVALID_ARGUMENT), NAME(KERN_FAILURE), NAME(KERN_RESOURCE_SHORTAGE), NAME(KERN_NOT_RECEIVER),
    NAME(KERN_NOT_IN_SET), NAME(KERN_NAME_EXISTS), NAME(KERN_INVALID_NAME), NAME(KERN_INVALID_TASK),
    NAME(KERN_INVALID_RIGHT), NAME(KERN_INVALID_VALUE), NAME(KERN_UREFS_OVERFLOW), NAME(KERN_INVALID_CAPABILITY),
    NAME(KERN_RIGHT_EXISTS), NAME(KERN_INVALID_HOST), NAME(MACH_SEND_INVALID_DATA), NAME(MACH_SEND_INVALID_DEST),
    NAME(MACH_SEND_TIMED_OUT), NAME(MACH_SEND_INTERRUPTED),
#ifdef MACH_DARWIN
    NAME(MACH_SEND_INVALID_VOUCHER), NAME(MACH_SEND_TOO_LARGE), NAME(MACH_RCV_INVALID_TRAILER),
#else
    NAME(MACH_SEND_WILL_NOTIFY),
#endif
    NAME(MACH_SEND_MSG_TOO_SMALL), NAME(MACH_SEND_INVALID_REPLY), NAME(MACH_SEND_INVALID_RIGHT),
    NAME(MACH_SEND_INVALID_NOTIFY), NAME(MACH_SEND_INVALID_MEMORY), NAME(MACH_SEND_NO_BUFFER),
    NAME(MACH_SEND_INVALID_TYPE), NAME(MACH_SEND_INVALID_HEADER), NAME(MACH_RCV_INVALID_NAME),
    NAME(MACH_RCV_TIMED_OUT), NAME(MACH_RCV_TOO_LARGE), NAME(MACH_RCV_INTERRUPTED), NAME(MACH_RCV_PORT_CHANGED),
    NAME(MACH_RCV_INVALID_NOTIFY), NAME(MACH_RCV_INVALID_DATA), NAME(MACH_RCV_PORT_DIED), NAME(MACH_RCV_IN_SET),
    NAME(MACH_RCV_HEADER_ERROR), NAME(MACH_RCV_BODY_ERROR), NAME(MIG_TYPE_ERROR), NAME(MIG_BAD_ID),
    NAME(MIG_BAD_ARGUMENTS), NAME(MIG_NO_REPLY), NAME(MIG_SERVER_DIED), NAME(BOOTSTRAP_NOT_PRIVILEGED),
    NAME(BOOTSTRAP_NAME_IN_USE), NAME(BOOTSTRAP_UNKNOWN_SERVICE), NAME(BOOTSTRAP_SERVICE_ACTIVE),
};

const char *code_name(int code) {
    static char number[4][16];
    static unsigned turn;
    char *text = number[turn++ % 4];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == code) return names[i].name;
    snprintf(text, sizeof number[0], "%#x", (unsigned) code);
    return text;
}

void watchdog(unsigned seconds) {
    /* SIGALRM ends the program, which the test sees. */
    alarm(seconds);
}

int check_at(const char *file, int line, int holds, const char *text) {
    checks_made++;
    if (!holds) {
        checks_failed++;
        fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
    }
    return holds;
}

int check_code_at(const char *file, int line, int code, int wanted, const char *text) {
    checks_made++;
    if (code != wanted) {
        checks_failed++;
        fprintf(stderr, "%s:%d: %s\n    returned %s, not %s\n", file, line, text, code_name(code), code_name(wanted));
    }
    return code == wanted;
}

int checks_done(const char *program) {
    if (checks_made == 0) {
        fprintf(stderr, "%s: nothing was checked\n", program);
        return 2;
    }
    fprintf(stderr, "%s: %d checks, %d failed\n", program, checks_made, checks_failed);
    return checks_failed ? 1 : 0;
}
