/* Which dialect the headers are for: the typed one of Mach 3.0. Those of Darwin's are in a directory that comes in front of this one. */
#ifndef MACH_DIALECT_H
#define MACH_DIALECT_H

#endif
