/* What the library has of the kernel's and of the process: numbers, structures, and calls. */

typedef unsigned long u64;
typedef unsigned int u32;

enum { SYS_open = 2, SYS_close = 3, SYS_stat = 4, SYS_fstat = 5, SYS_lstat = 6, SYS_lseek = 8, SYS_mmap = 9, SYS_rt_sigprocmask = 14, SYS_pread64 = 17, SYS_access = 21,
       SYS_getpid = 39, SYS_execve = 59, SYS_getdents = 78, SYS_getcwd = 79, SYS_readlink = 89, SYS_prctl = 157, SYS_getxattr = 191, SYS_lgetxattr = 192,
       SYS_getdents64 = 217, SYS_exit_group = 231, SYS_waitid = 247, SYS_openat = 257,
       SYS_newfstatat = 262, SYS_readlinkat = 267, SYS_faccessat = 269, SYS_seccomp = 317, SYS_statx = 332, SYS_openat2 = 437, SYS_faccessat2 = 439 };
enum { ENOENT = 2, EINTR = 4, ECHILD = 10, EACCES = 13, EFAULT = 14, EEXIST = 17, ENOTDIR = 20, EINVAL = 22, ENFILE = 23, EMFILE = 24, ELOOP = 40 };
enum { AT_FDCWD = -100, AT_SYMLINK_NOFOLLOW = 0x100, AT_EACCESS = 0x200, AT_EMPTY_PATH = 0x1000, AT_NO_AUTOMOUNT = 0x800 };
enum { O_ACCMODE = 3, O_WRONLY = 1, O_RDWR = 2, O_CREAT = 0100, O_EXCL = 0200, O_TRUNC = 01000, O_APPEND = 02000, O_NOCTTY = 0400, O_NONBLOCK = 04000, O_LARGEFILE = 0100000, O_DIRECTORY = 0200000, O_NOFOLLOW = 0400000,
       O_CLOEXEC = 02000000, O_PATH = 010000000 };
enum { MAP_SHARED = 1, MAP_PRIVATE = 2, MAP_ANONYMOUS = 0x20, MAP_FIXED_NOREPLACE = 0x100000 };
enum { P_ALL = 0, WNOHANG = 1, WEXITED = 4, WNOWAIT = 0x01000000, WALL = 0x40000000, ELF = 0x464c457f };
enum { STATX_TYPE = 1, STATX_INO = 0x100, STATX_SIZE = 0x200, SEEK_CUR = 1, PR_SET_SECCOMP = 22, R_OK = 4, W_OK = 2, X_OK = 1, S_IFMT = 0170000, S_IFLNK = 0120000, S_IFCHR = 0020000, S_IFDIR = 0040000, S_IFREG = 0100000,
       RESOLVE_NO_SYMLINKS = 4, ASK = -4243 };

/* What the entry has saved: the call's number, which its result replaces, and its arguments. */
struct frame {
  long number;
  u64 a[6];
};

/* A process's own, in the C library's copy (src/entry.rs knows the first four). */
struct state {
  u32 ready;
  /* Children that share this memory, and not the working directory, may be running it. */
  u32 forks;
  /* The working directory: odd while it is written; for which count of the index it holds; its text, empty for the root's. */
  u64 count;
  /* Not 0: this process has had children, which the server must know of before it ends. */
  u64 forked;
  u64 slot, changes, hash, len;
  char cwd[256];
  /* Pages that could be read when they were last tried. */
  u64 pages[16];
  /* The loader has a state of its own. */
  u64 has_loader;
};

struct stat {
  u64 dev, ino, nlink;
  u32 mode, uid, gid, pad;
  u64 rdev, size, blksize, blocks, atime[2], mtime[2], ctime[2], rest[3];
};

#define AT(type, place) ((type *)(BASE + (place)))
#define WORD(place) (*(volatile u64 *)(BASE + (place)))
/* The dynamic loader's. */
#define LOADER_STATE AT(struct state, LOADER)

/* The one call that the net lets pass. */
long gate(long number, long a, long b, long c, long d, long e);
__asm__(".pushsection .gate,\"ax\"\n"
        ".globl gate\n"
        "gate: mov %rdi,%rax; mov %rsi,%rdi; mov %rdx,%rsi; mov %rcx,%rdx; mov %r8,%r10; mov %r9,%r8\n"
        "syscall; ret\n"
        ".popsection");

/* A call that the net catches, again where a signal came before the server. */
static long caught(long number, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f) {
  register u64 fourth __asm__("r10") = d;
  register u64 fifth __asm__("r8") = e;
  register u64 sixth __asm__("r9") = f;
  long result;
  do {
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
  } while (result == -EINTR && WORD(HEADER + SIGNALS_WAIT));
  return result;
}

static long served(long number, u64 a, u64 b, u64 c) { return caught(number, a, b, c, 0, 0, 0); }

/* A question to the server, which the net catches, too. */
static long ask(const char *path, long what, long dir, u64 how, u64 key) { return caught(SYS_readlinkat, ASK, (u64)path, what, dir, how, key); }

static void *copy(void *to, const char *from, u64 len) {
  void *end = to;
  __asm__ volatile("rep movsb" : "+D"(end), "+S"(from), "+c"(len) : : "memory");
  return end;
}

/* Whether a page of the program's can be read: the kernel reads a set of signals there, and then finds that the call has no meaning. */
static int can_read(struct state *s, u64 address) {
  u64 page = address >> 12, *known = &s->pages[page & 15];
  /* None is known of in the beginning, the first one neither. */
  if (*(volatile u64 *)known == page + 1) return 1;
  /* The page's last bytes: a null pointer would be no set. */
  if (gate(SYS_rt_sigprocmask, -1, page << 12 | 0xff8, 0, 8, 0) == -EFAULT) return 0;
  *(volatile u64 *)known = page + 1;
  return 1;
}
