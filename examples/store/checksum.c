#include "checksum.h"

#include <string.h>

/* A bit at a time: for processors without the instruction, and for what is left of the other. */
static uint32_t by_bits(uint32_t crc, const unsigned char *bytes, size_t size) {
    while (size-- > 0) {
        crc ^= *bytes++;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0x82f63b78u & -(crc & 1));
    }
    return crc;
}

#ifdef __x86_64__
#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t by_words(uint32_t crc, const unsigned char *bytes, size_t size) {
    uint64_t word, wide = crc;
    for (; size >= 8; size -= 8, bytes += 8) {
        memcpy(&word, bytes, 8);
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t) wide;
    while (size-- > 0) crc = _mm_crc32_u8(crc, *bytes++);
    return crc;
}

uint32_t checksum(const void *data, size_t size) {
    return ~(__builtin_cpu_supports("sse4.2") ? by_words(~0u, data, size) : by_bits(~0u, data, size));
}
#else
uint32_t checksum(const void *data, size_t size) { return ~by_bits(~0u, data, size); }
#endif
