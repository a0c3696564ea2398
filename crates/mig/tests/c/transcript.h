/* A transcript of all that one side of trap.defs sees: lines of a word and bytes, to be compared between placements. */
#ifndef TRANSCRIPT_H
#define TRANSCRIPT_H

#include <stdio.h>

static FILE *transcript;

static void note(const char *what, const void *data, size_t size)
{
    const unsigned char *bytes = data;

    fprintf(transcript, "%s", what);
    while (size-- > 0)
        fprintf(transcript, " %02x", *bytes++);
    fputc('\n', transcript);
}

#define NOTE(value) note(#value, &(value), sizeof(value))
#define NOTES(array, count) note(#array, array, (count) * sizeof *(array))
#define TEXT(string) fprintf(transcript, #string " \"%s\"\n", string)

/* A record without what lies between its members. */
#define RECORD(record) fprintf(transcript, #record " %d %llu %d\n", (record).tag, (unsigned long long) (record).big, (record).small)

#endif
