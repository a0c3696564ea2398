/* Which dialect the headers are for: Darwin's, with this directory in front of the other headers. */
#ifndef MACH_DIALECT_H
#define MACH_DIALECT_H

#define MACH_DARWIN 1

#endif
