/* What the two programs agree on: the ids of what goes from Darwin's to the typed one and back. */
#ifndef CROSSING_H
#define CROSSING_H

#define SERVICE "test.crossing"

enum {
    PLAIN = 300,    /* 12 bytes, with a reply port */
    CARRYING = 301, /* a right, memory, rights out of line, three integers; to and fro */
    GUARD = 302,    /* nothing: ask for a no-senders notification of the port behind it */
    LAST = 303,
    LENGTH = 90000, /* bytes of memory */
};

#endif
