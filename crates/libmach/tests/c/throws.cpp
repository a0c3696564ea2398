/* A routine that an exception leaves, while its trap function has memory. */
#include <mach/trap.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

extern "C" kern_return_t throws(mach_port_t, void *, void *context) {
    /* The context is another table's of the same port. */
    if (context != nullptr) std::abort();
    const std::size_t large = 1 << 20;
    void *room = mig_trap_allocate(large);
    if (room == nullptr) return KERN_RESOURCE_SHORTAGE;
    std::memset(room, 1, large);
    throw std::runtime_error("nobody catches this");
}
