/* CRC-32C, with the processor's instruction where there is one. */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

extern uint32_t checksum(const void *data, size_t size);

#endif
