/* What the test programs do in the same way: steps that must succeed, and files for transcripts. */
#ifndef STEPS_H
#define STEPS_H

#include <mach/kern_return.h>
#include <mach/mach.h>

#include <stdio.h>
#include <stdlib.h>

static void must(const char *what, kern_return_t code)
{
    if (code == KERN_SUCCESS)
        return;
    fprintf(stderr, "%s: %s\n", what, mach_error_string(code));
    exit(1);
}

static FILE *opened(const char *name)
{
    FILE *file = fopen(name, "w");

    if (file == NULL) {
        perror(name);
        exit(1);
    }
    setvbuf(file, NULL, _IOLBF, 1 << 16);
    return file;
}

#endif
