/* A routine that an exception leaves. */
#include <mach/trap.h>

#include <stdexcept>

extern "C" kern_return_t throws(mach_port_t, void *) { throw std::runtime_error("nobody catches this"); }
