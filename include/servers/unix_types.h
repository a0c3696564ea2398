/* The C types of <servers/unix.defs>. */
#ifndef SERVERS_UNIX_TYPES_H
#define SERVERS_UNIX_TYPES_H

#include <stdint.h>
#include <mach/std_types.h>

/* The name that the server registers by default. */
#define UNIX_SERVICE "slipway.unix"

/* What a routine returns for an error of Unix: Mach's system of errors 3. */
#define UNIX_ERROR(number) ((3 << 26) | (number))
#define UNIX_IS_ERROR(code) ((code) >> 14 == (3 << 26) >> 14)
#define UNIX_ERRNO(code) ((code) & 0x3fff)

#define UNIX_PATH_MAX 4096
#define UNIX_DATA_MAX 8192

typedef char unix_path_t[UNIX_PATH_MAX];
typedef char unix_data_t[UNIX_DATA_MAX];

typedef struct {
    uint64_t st_dev;
    uint64_t st_ino;
    uint64_t st_mode;
    uint64_t st_nlink;
    uint64_t st_uid;
    uint64_t st_gid;
    uint64_t st_rdev;
    uint64_t st_size;
    uint64_t st_blksize;
    uint64_t st_blocks;
    int64_t st_atime_s;
    int64_t st_atime_ns;
    int64_t st_mtime_s;
    int64_t st_mtime_ns;
    int64_t st_ctime_s;
    int64_t st_ctime_ns;
} unix_stat_t;

typedef struct {
    uint64_t rlim_current;
    uint64_t rlim_max;
} unix_rlimit_t;

#endif
