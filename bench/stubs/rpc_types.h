/* The arrays of rpc.defs. */
#ifndef RPC_TYPES_H
#define RPC_TYPES_H

typedef int few_t[16];
typedef int many_t[256];
typedef int most_t[4095];
typedef int words_t[32];
typedef char small_t[64];
typedef char block_t[1024];

#endif
