/* Truth values, as Mach's interfaces pass them. */
#ifndef MACH_BOOLEAN_H
#define MACH_BOOLEAN_H

typedef int boolean_t;

#ifndef NOBOOL
#ifndef TRUE
#define TRUE ((boolean_t) 1)
#endif
#ifndef FALSE
#define FALSE ((boolean_t) 0)
#endif
#endif

#endif
