/* Kinds of exceptions, for interface files: libmach tells none. */
#ifndef MACH_EXCEPTION_H
#define MACH_EXCEPTION_H

#define EXC_BAD_ACCESS 1      /* memory that is not there, or may not be used so */
#define EXC_BAD_INSTRUCTION 2 /* not an instruction, or a privileged one */
#define EXC_ARITHMETIC 3
#define EXC_EMULATION 4
#define EXC_SOFTWARE 5
#define EXC_BREAKPOINT 6

#endif
