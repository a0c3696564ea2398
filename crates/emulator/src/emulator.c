/* The emulation library: it answers a program's looks at names in the program's own process, with one call of the kernel or none, where the
 * server's index says that no layer has to do with them; all else it passes on, and the net catches it.
 *
 * It is entered from rewritten sites of the C library (src/rewrite.rs) with the registers of a system call. Only general registers are used,
 * so that no others need saving; it has no data but what the site's library keeps for it (struct state) and what the server shares
 * (src/layout.rs). A signal may interrupt it anywhere and enter it again: nothing waits for anything. What it reads of the index may be
 * changed meanwhile; then the server answers.
 */
typedef unsigned long u64;
typedef unsigned int u32;

enum { SYS_open = 2, SYS_close = 3, SYS_stat = 4, SYS_fstat = 5, SYS_lstat = 6, SYS_lseek = 8, SYS_mmap = 9, SYS_rt_sigprocmask = 14, SYS_access = 21,
       SYS_getpid = 39, SYS_execve = 59, SYS_getdents = 78, SYS_getcwd = 79, SYS_readlink = 89, SYS_prctl = 157, SYS_getxattr = 191, SYS_lgetxattr = 192,
       SYS_getdents64 = 217, SYS_exit_group = 231, SYS_openat = 257,
       SYS_newfstatat = 262, SYS_readlinkat = 267, SYS_faccessat = 269, SYS_seccomp = 317, SYS_statx = 332, SYS_faccessat2 = 439 };
enum { ENOENT = 2, EFAULT = 14, ENOTDIR = 20, ELOOP = 40 };
enum { AT_FDCWD = -100, AT_SYMLINK_NOFOLLOW = 0x100, AT_EACCESS = 0x200, AT_EMPTY_PATH = 0x1000, AT_NO_AUTOMOUNT = 0x800 };
enum { O_ACCMODE = 3, O_NOCTTY = 0400, O_NONBLOCK = 04000, O_LARGEFILE = 0100000, O_DIRECTORY = 0200000, O_NOFOLLOW = 0400000,
       O_CLOEXEC = 02000000 };
enum { STATX_TYPE = 1, STATX_INO = 0x100, SEEK_CUR = 1, PR_SET_SECCOMP = 22, R_OK = 4, X_OK = 1, S_IFMT = 0170000, S_IFLNK = 0120000, S_IFDIR = 0040000 };

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
};

struct stat {
  u64 dev, ino, nlink;
  u32 mode;
  char rest[116];
};

struct dir {
  u64 count, key, hash, what;
  char name[DIR_NAME_MAX];
};

#define AT(type, place) ((type *)(BASE + (place)))
#define WORD(place) (*(volatile u64 *)(BASE + (place)))

/* Longer paths are the server's: the stack may be a small one. */
enum { LONGEST = 320, ROOM = PREFIX_MAX + DIR_NAME_MAX + LONGEST, NAMED_MAX = PREFIX_MAX + DIR_NAME_MAX };

/* Not of the process: threads may have descriptors of their own. */
#define FDS "/proc/thread-self/fd/"

/* The one call that the net lets pass. */
long gate(long number, long a, long b, long c, long d, long e);
__asm__(".pushsection .gate,\"ax\"\n"
        ".globl gate\n"
        "gate: mov %rdi,%rax; mov %rsi,%rdi; mov %rdx,%rsi; mov %rcx,%rdx; mov %r8,%r10; mov %r9,%r8\n"
        "syscall; ret\n"
        ".popsection");

/* The entries, and what follows. A site gives its address of return on the stack, below the 128 bytes that its function may use, and its
 * state in rcx; the kernel would have changed rcx and r11. */
__asm__(".pushsection .enter,\"ax\"\n"
        "jmp enter\n"
        ".balign 16\n"
        "jmp prepare\n"
        ".balign 16\n"
        "enter: push %rbp; mov %rsp,%rbp; push %r9; push %r8; push %r10; push %rdx; push %rsi; push %rdi; push %rax\n"
        "mov %rsp,%rdi; mov %rcx,%rsi; and $-16,%rsp; cld\n"
        "call emulate\n"
        "mov %eax,%r11d; lea -56(%rbp),%rsp\n"
        "pop %rax; pop %rdi; pop %rsi; pop %rdx; pop %r10; pop %r8; pop %r9; pop %rbp\n"
        "test %r11d,%r11d; jnz 1f\n"
        "syscall\n"
        "1: pop %rcx; lea 128(%rsp),%rsp; jmp *%rcx\n"
        ".popsection");

/* A call that the net catches. */
static long served(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

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

static u64 hash(u64 h, const char *text, u64 len) {
  for (u64 i = 0; i < len; i++) h = (h ^ (unsigned char)text[i]) * HASH_FACTOR;
  return h;
}

static u64 place(u64 h, u64 count) { return h * SPREAD >> (64 - __builtin_ctzl(count)); }

/* What a table of the index has for a hash in its lowest bits; 0: it is not there. */
static u32 find(u64 table, u64 count, u64 h) {
  u64 at = place(h, count);
  for (u64 i = 0; i < PROBES; i++) {
    u64 word = WORD(table + 8 * ((at + i) & (count - 1)));
    if (word == 0) return 0;
    if ((word ^ h) >> KIND_BITS == 0) return word & ((1 << KIND_BITS) - 1);
  }
  return NAME_SERVED;
}

static u64 file_hash(u64 dev, u64 ino) {
  u64 h = (ino ^ (dev << 32 | dev >> 32)) * SPREAD;
  return h ^ h >> 29;
}

static u32 file_kind(u64 dev, u64 ino) { return find(FILES, FILES_COUNT, file_hash(dev, ino)); }

static int is_served_file(u64 dev, u64 ino) { return file_kind(dev, ino) == FILE_SERVED; }

/* The number that programs see of a file, for its own. */
static u64 shown(u64 dev, u64 ino) {
  u64 h = file_hash(dev, ino), at = place(h, FILES_COUNT);
  for (u64 i = 0; i < PROBES; i++) {
    u64 offset = 8 * ((at + i) & (FILES_COUNT - 1)), word = WORD(FILES + offset);
    if (word == 0) break;
    if ((word ^ h) >> KIND_BITS == 0) return word & ((1 << KIND_BITS) - 1) && WORD(SHOWN + offset) ? WORD(SHOWN + offset) : ino;
  }
  return ino;
}

/* Notes what was looked at, once: whether there was room. Without a text only that it is known: whether it was before. */
static int record(u64 key, u32 kind, const char *text, u64 len) {
  key = (key ^ kind * SPREAD) | 1;
  u64 *at = 0, start = place(key, SEEN_COUNT);
  for (u64 i = 0; i < 16; i++) {
    u64 *slot = AT(u64, SEEN + 8 * ((start + i) & (SEEN_COUNT - 1)));
    u64 word = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (word == key) return 1;
    if (word == 0) {
      at = slot;
      break;
    }
  }
  if (text) {
    u64 size = (8 + len + LOG_STEP - 1) & ~(u64)(LOG_STEP - 1);
    if (__atomic_load_n(AT(u64, LOG), __ATOMIC_RELAXED) + size > LOG_SIZE - LOG_STEP) return 0;
    u64 taken = __atomic_fetch_add(AT(u64, LOG), size, __ATOMIC_RELAXED);
    if (taken + size > LOG_SIZE - LOG_STEP) return 0;
    u64 *head = AT(u64, LOG + LOG_STEP + taken);
    /* Killed from here on, it leaves the length of what is to be skipped. */
    __atomic_store_n(head, len << 8, __ATOMIC_RELAXED);
    copy(head + 1, text, len);
    __atomic_store_n(head, len << 8 | kind, __ATOMIC_RELEASE);
  }
  if (at) {
    u64 none = 0;
    __atomic_compare_exchange_n(at, &none, key, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
  return text != 0;
}

/* The length of the working directory's text, or -1 where it is the server's. What was made of the text holds if is_same_cwd says so
 * afterwards. */
static long cwd(struct state *s, u64 *h, u64 *count) {
  if (__atomic_load_n(&s->forks, __ATOMIC_RELAXED)) return -1;
  u64 before = __atomic_load_n(&s->count, __ATOMIC_ACQUIRE);
  if (before & 1) return -1;
  if (before == 0 || WORD(CWDS + HEADER + 8 * s->slot) != s->changes) {
    if (!__atomic_compare_exchange_n(&s->count, &before, before + 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return -1;
    s->slot = (u64)gate(SYS_getpid, 0, 0, 0, 0, 0) & (CWDS_COUNT - 1);
    s->changes = WORD(CWDS + HEADER + 8 * s->slot);
    long len = served(SYS_getcwd, (long)s->cwd, DIR_NAME_MAX, 0);
    /* 0 for one that is too long or gone. */
    s->len = len > 1 && s->cwd[0] == '/' ? len : 0;
    u64 text = s->len == 2 ? 0 : s->len - 1;
    s->hash = s->len ? hash(HASH_START, s->cwd, text) : 0;
    before += 2;
    __atomic_store_n(&s->count, before, __ATOMIC_RELEASE);
  }
  u64 len = s->len;
  *h = s->hash;
  *count = before;
  return len == 0 ? -1 : len == 2 ? 0 : (long)len - 1;
}

static int is_same_cwd(struct state *s, u64 count) {
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n(&s->count, __ATOMIC_RELAXED) == count && !__atomic_load_n(&s->forks, __ATOMIC_RELAXED);
}

static int begins(const char *text, u64 len, const char *with, u64 count) {
  if (len < count || (len > count && text[count] != '/')) return 0;
  while (count > 0 && text[count - 1] == with[count - 1]) count--;
  return count == 0;
}

/* The name of what is open, as the server finds it: its length, where in `room` it is, and its hash. -1: it is the server's. */
static long named(int fd, char *room, const char **name, u64 *h) {
  char path[32], *end = path + sizeof path - 1;
  const u64 prefix = WORD(HEADER + PREFIX_LEN), store = WORD(HEADER + STORE_LEN);
  if (fd < 0 || store == 0 || WORD(HEADER + DIRS_ARE_OFF)) return -1;
  *end = 0;
  do *--end = '0' + fd % 10; while (fd /= 10);
  end -= sizeof FDS - 1;
  copy(end, FDS, sizeof FDS - 1);
  long len = gate(SYS_readlinkat, AT_FDCWD, (long)end, (long)room, NAMED_MAX, 0);
  /* What was removed is called "... (deleted)". */
  if (len < 1 || len == NAMED_MAX || room[0] != '/' || room[len - 1] == ')') return -1;
  if (begins(room, len, AT(char, HEADER + PREFIX), store)) {
    if (!begins(room, len, AT(char, HEADER + PREFIX), prefix)) return -1;
    room += prefix;
    len -= prefix;
  }
  if (len == 1) len = 0;
  *name = room;
  *h = hash(HASH_START, room, len);
  return len;
}

/* A path as it was written: its length, where its last slash is, and hashes of what is before that and of the whole. */
struct path {
  const char *text;
  long len, slash;
  u64 dir, whole;
};

/* Whether it was read to its end. */
static int scan(struct state *s, struct path *p, u64 h) {
  const char *text = p->text;
  p->slash = -1;
  p->dir = h;
  if (text[0] != '/') h = (h ^ '/') * HASH_FACTOR;
  for (long i = 0; i < LONGEST; i++) {
    if (((u64)(text + i) & 0xfff) == 0 && !can_read(s, (u64)(text + i))) return 0;
    unsigned char c = text[i];
    if (c == 0) {
      p->len = i;
      p->whole = h;
      return 1;
    }
    if (c == '/') {
      p->slash = i;
      p->dir = h;
    }
    h = (h ^ c) * HASH_FACTOR;
  }
  return 0;
}

/* Whether a last component is a name, which the library may look up. */
static int is_name(const char *name, long len) {
  if (len < 1 || len > 255) return 0;
  if (name[0] != '.') return 1;
  /* Names of the layers' own marks are the server's. */
  return !(len == 1 || (len == 2 && name[1] == '.') || name[1] == 1);
}

enum way { SERVED, NATIVE, ABSENT };

/* Where a name is for the kernel, and what it is called in the tree. */
struct found {
  /* Relative to a descriptor of a directory that it is looked up in, or from the root on. */
  int dir;
  const char *real;
  /* None: what is before it is known by the descriptor only, and the key is of that. */
  const char *name;
  u64 len, key;
  /* It is in the topmost layer; it is a directory there, or that of the host's. What is found there may be the server's. */
  int is_upper, is_dir;
  char room[ROOM], named[NAMED_MAX];
};

/* Whether a name is relative to a directory that is seen as the kernel has it: of the host's, or the topmost layer's alone. */
static int is_in_plain_dir(struct state *s, long dir, const char *text, struct found *f) {
  struct stat st;
  struct path p = {.text = text};
  if (dir < 0 || WORD(HEADER + DIRS_ARE_OFF) || text[0] == '/' || !scan(s, &p, HASH_START)) return 0;
  if (p.slash >= 0 || !is_name(text, p.len) || gate(SYS_fstat, dir, (long)&st, 0, 0, 0) != 0) return 0;
  if ((st.mode & S_IFMT) != S_IFDIR || st.dev == WORD(HEADER + PROC_DEV)) return 0;
  u32 kind = file_kind(st.dev, st.ino);
  if (kind == FILE_SERVED) return 0;
  f->dir = dir;
  f->real = text;
  f->name = 0;
  f->is_upper = kind == FILE_ALONE;
  f->is_dir = 0;
  /* The number of one that the command made may become another's. */
  f->key = f->is_upper ? 0 : hash(p.whole, (const char *)&st, 16);
  return 1;
}

/* Finds where a name is, relative to the working directory or to a descriptor. */
static enum way locate(struct state *s, int from, const char *text, struct found *f) {
  struct path p = {.text = text};
  u64 h = HASH_START, count = 0;
  long before = 0;
  const char *base = s->cwd;
  if (!can_read(s, (u64)text)) return SERVED;
  if (is_in_plain_dir(s, from, text, f)) return NATIVE;
  int is_relative = text[0] != '/', is_in_cwd = is_relative && from == AT_FDCWD;
  if (is_relative && (before = is_in_cwd ? cwd(s, &h, &count) : named(from, f->named, &base, &h)) < 0) return SERVED;
  if (!scan(s, &p, h)) return SERVED;
  const char *last = text + p.slash + 1;
  long len = p.len - p.slash - 1;
  /* The directory itself. */
  int is_dir = (len == 0 && p.slash >= 0) || (len == 1 && last[0] == '.');
  if (!is_dir && !is_name(last, len)) return SERVED;

  const volatile struct dir *d = 0;
  u64 at = place(p.dir, DIRS_COUNT), version = 0;
  for (u64 i = 0; i < DIR_PROBES && !d; i++) {
    const volatile struct dir *other = AT(struct dir, DIRS + DIR_SIZE * ((at + i) & (DIRS_COUNT - 1)));
    version = __atomic_load_n(&other->count, __ATOMIC_ACQUIRE);
    if (version == 0) break;
    if (!(version & 1) && other->key == p.dir) d = other;
  }
  u64 what, above = p.dir, dir_len;
  char *to = f->room;
  if (d) {
    what = d->what;
    above = d->hash;
    dir_len = what >> DIR_LEN_SHIFT;
  } else {
    /* By its name alone. */
    u32 alone = find(NAMES, NAMES_COUNT, above);
    if (alone != NAME_OVER && alone != NAME_CLOSED) return SERVED;
    what = DIR_IS_PLAIN | DIR_IS_OVER | (alone == NAME_OVER ? DIR_HOST : DIR_LAYER);
    dir_len = (p.slash >= 0 ? p.slash : 0) + (is_relative ? before + (p.slash >= 0) : 0);
  }
  if (dir_len > DIR_NAME_MAX) return SERVED;
  u32 kind = what & 3;
  f->dir = AT_FDCWD;
  f->is_dir = is_dir;

  if (kind == DIR_MISSING) {
    /* It is still not there, and so the path is not. */
    struct stat st;
    if (find(NAMES, NAMES_COUNT, above)) return SERVED;
    to = copy(to, (const char *)d->name, dir_len);
    *to = 0;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (d->count != version) return SERVED;
    if (gate(SYS_newfstatat, AT_FDCWD, (long)f->room, (long)&st, AT_SYMLINK_NOFOLLOW, 0) != -ENOENT) return SERVED;
    to = f->room;
    if (is_relative) {
      to = copy(to, base, before);
      *to++ = '/';
    }
    to = copy(to, text, p.len);
    f->name = f->room;
    f->len = to - f->room;
    f->key = p.whole;
    return is_in_cwd && !is_same_cwd(s, count) ? SERVED : ABSENT;
  }

  f->key = is_dir ? above : what & DIR_IS_PLAIN ? p.whole : hash((above ^ '/') * HASH_FACTOR, last, len);
  u32 node = find(NAMES, NAMES_COUNT, f->key);
  int is_over = (what & DIR_IS_OVER || kind == DIR_LAYER) && node == 0;
  if (is_dir) {
    f->is_upper = node == NAME_OVER || node == NAME_CLOSED;
    if (!f->is_upper && (node || kind != DIR_HOST || what & DIR_IS_OVER)) return SERVED;
  } else {
    if (node == NAME_SERVED) return SERVED;
    f->is_upper = node != 0;
    f->is_dir = node == NAME_OVER || node == NAME_CLOSED;
  }
  int is_absent = kind == DIR_LAYER && node == 0;
  if (kind == DIR_HOST && node == 0 && what & DIR_IS_PLAIN && !is_relative && !is_over && !is_dir) {
    f->real = f->name = text;
    f->len = p.len;
  } else {
    f->real = to;
    if (f->is_upper || is_over) {
      u64 prefix = WORD(HEADER + PREFIX_LEN);
      to = copy(to, AT(char, HEADER + PREFIX), prefix);
    }
    f->name = to;
    if (d) {
      to = copy(to, (const char *)d->name, dir_len);
    } else {
      if (is_relative) to = copy(to, base, before);
      if (is_relative && p.slash >= 0) *to++ = '/';
      if (p.slash >= 0) to = copy(to, text, p.slash);
    }
    f->len = to - f->name;
    /* With a dot after it, it must be searched. */
    if (len > 0 || dir_len == 0) *to++ = '/';
    to = copy(to, last, len);
    *to = 0;
    if (!is_dir) f->len = to - f->name;
    if (is_over) {
      /* Whether it may be searched, only the layer's directory says. */
      struct stat st;
      if (gate(SYS_newfstatat, AT_FDCWD, (long)f->real, (long)&st, AT_SYMLINK_NOFOLLOW, 0) != -ENOENT) return SERVED;
      f->real = f->name;
    }
  }
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if ((d && d->count != version) || (is_in_cwd && !is_same_cwd(s, count))) return SERVED;
  return is_absent ? ABSENT : NATIVE;
}

static int answer(struct frame *f, long result) {
  f->number = result;
  return 1;
}

/* Notes what was looked at: whether there was room. */
static int note(struct found *f, u32 kind) {
  u64 h, len = 0;
  if (f->name) return record(f->key, kind, f->name, f->len);
  if (f->key && record(f->key, kind, 0, 0)) return 1;
  long above = named(f->dir, f->named, &f->name, &h);
  if (above < 0) return 0;
  char *to = copy(f->room, f->name, above);
  *to++ = '/';
  /* Another thread may have changed it since it was scanned. */
  while (len < LONGEST && f->real[len]) len++;
  copy(to, f->real, len);
  f->name = 0;
  return record(hash((h ^ '/') * HASH_FACTOR, f->real, len), kind, f->room, above + 1 + len);
}

static int absent(struct frame *f, struct found *found) { return note(found, LOG_MISSED) ? answer(f, -ENOENT) : 0; }

/* What is found in the layer, or is a directory on the way, may be the server's: a link there may be a mark. */
static int may_be_served(const struct found *found) { return found->is_upper || found->is_dir; }

static int do_open(struct frame *f, struct state *s, int dir, const char *text, u64 flags) {
  struct found found;
  if (flags & ~(u64)(O_NOCTTY | O_NONBLOCK | O_LARGEFILE | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) return 0;
  enum way way = locate(s, dir, text, &found);
  if (way == ABSENT) return absent(f, &found);
  if (way == SERVED) return 0;
  u32 kind = found.is_dir || flags & O_DIRECTORY ? LOG_LISTED : LOG_OPENED;
  /* Not opened twice: the other end of a FIFO would see it. */
  if (!found.name && !note(&found, kind)) return 0;
  /* A link leads to where only the server knows. */
  long fd = gate(SYS_openat, found.dir, (long)found.real, flags | O_NOFOLLOW, 0, 0);
  if (fd == -ENOENT) return absent(f, &found);
  if ((fd == -ELOOP || (fd == -ENOTDIR && flags & O_DIRECTORY)) && (found.is_upper || !(flags & O_NOFOLLOW))) return 0;
  if (fd >= 0 && found.name && !note(&found, kind)) {
    gate(SYS_close, fd, 0, 0, 0, 0);
    return 0;
  }
  return answer(f, fd);
}

static int is_link(u32 mode) { return (mode & S_IFMT) == S_IFLNK; }

/* fstat, also in the form of newfstatat. */
static int do_fstat(struct frame *f, long fd, struct stat *buffer) {
  long result = gate(SYS_fstat, fd, (long)buffer, 0, 0, 0);
  if (result == 0 && is_served_file(buffer->dev, buffer->ino)) return 0;
  return answer(f, result);
}

static int do_stat(struct frame *f, struct state *s, int dir, const char *text, struct stat *buffer, u64 flags) {
  struct found found;
  if (flags & ~(u64)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT) || !can_read(s, (u64)text)) return 0;
  if (text[0] == 0) return flags & AT_EMPTY_PATH && dir != AT_FDCWD ? do_fstat(f, dir, buffer) : 0;
  flags &= ~(u64)AT_EMPTY_PATH;
  enum way way = locate(s, dir, text, &found);
  if (way == ABSENT) return absent(f, &found);
  if (way == SERVED) return 0;
  long result = gate(SYS_newfstatat, found.dir, (long)found.real, (long)buffer, flags | AT_SYMLINK_NOFOLLOW, 0);
  if (result == -ENOENT) return absent(f, &found);
  if (result == 0 && may_be_served(&found) && (is_link(buffer->mode) || is_served_file(buffer->dev, buffer->ino))) return 0;
  if (result == 0 && !(flags & AT_SYMLINK_NOFOLLOW) && is_link(buffer->mode)) return 0;
  return answer(f, result);
}

/* The same of what statx has told. */
static int is_served_statx(const char *buffer) {
  u64 major = *(u32 *)(buffer + 136), minor = *(u32 *)(buffer + 140);
  return is_served_file((minor & 0xff) | major << 8 | (minor & ~0xffUL) << 12, *(u64 *)(buffer + 32));
}

static int do_statx(struct frame *f, struct state *s, int dir, const char *text, u64 flags, u64 mask, char *buffer) {
  struct found found;
  int follows = !(flags & AT_SYMLINK_NOFOLLOW);
  /* 0x6000: whether another machine is asked. */
  if (flags & ~(u64)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT | 0x6000) || !can_read(s, (u64)text)) return 0;
  flags |= AT_SYMLINK_NOFOLLOW;
  mask |= STATX_TYPE | STATX_INO;
  if (text[0] == 0) {
    if (!(flags & AT_EMPTY_PATH) || dir == AT_FDCWD) return 0;
    long result = gate(SYS_statx, dir, (long)text, flags, mask, (long)buffer);
    return result == 0 && is_served_statx(buffer) ? 0 : answer(f, result);
  }
  flags &= ~(u64)AT_EMPTY_PATH;
  enum way way = locate(s, dir, text, &found);
  if (way == ABSENT) return absent(f, &found);
  if (way == SERVED) return 0;
  long result = gate(SYS_statx, found.dir, (long)found.real, flags, mask, (long)buffer);
  if (result == -ENOENT) return absent(f, &found);
  int is_a_link = result == 0 && is_link(*(unsigned short *)(buffer + 28));
  if (result == 0 && may_be_served(&found) && (is_a_link || is_served_statx(buffer))) return 0;
  return is_a_link && follows ? 0 : answer(f, result);
}

/* Whether what is found is the kernel's to look at more closely, and no link. If not, `result` says what of it is to be answered: 0, the
 * server does. */
static int is_plain(const struct found *found, long *result) {
  struct stat st;
  *result = gate(SYS_newfstatat, found->dir, (long)found->real, (long)&st, AT_SYMLINK_NOFOLLOW, 0);
  if (*result != 0) return 0;
  return !is_link(st.mode) && !(may_be_served(found) && is_served_file(st.dev, st.ino));
}

static int do_access(struct frame *f, struct state *s, int dir, const char *text, u64 mode, u64 flags) {
  struct found found;
  long result;
  /* What may be written depends on rules. */
  if (mode & ~(u64)(R_OK | X_OK) || flags & ~(u64)AT_EACCESS) return 0;
  enum way way = locate(s, dir, text, &found);
  if (way == ABSENT) return absent(f, &found);
  if (way == SERVED) return 0;
  if (!is_plain(&found, &result)) return result == -ENOENT ? absent(f, &found) : result ? answer(f, result) : 0;
  if (mode != 0) {
    result = flags ? gate(SYS_faccessat2, found.dir, (long)found.real, mode, flags, 0)
                   : gate(SYS_faccessat, found.dir, (long)found.real, mode, 0, 0);
  }
  return answer(f, result);
}

static int do_getxattr(struct frame *f, struct state *s, const char *text) {
  struct found found;
  long result;
  enum way way = locate(s, AT_FDCWD, text, &found);
  if (way == ABSENT) return absent(f, &found);
  if (way == SERVED) return 0;
  if (!is_plain(&found, &result)) return result == -ENOENT ? absent(f, &found) : result ? answer(f, result) : 0;
  return answer(f, gate(SYS_lgetxattr, (long)found.real, f->a[1], f->a[2], f->a[3], 0));
}

static int do_readlink(struct frame *f, struct state *s, int dir, const char *text, char *buffer, u64 size) {
  struct found found;
  enum way way = locate(s, dir, text, &found);
  if (way == ABSENT) return absent(f, &found);
  if (way == SERVED) return 0;
  long result = gate(SYS_readlinkat, found.dir, (long)found.real, (long)buffer, size, 0);
  if (result == -ENOENT) return absent(f, &found);
  if (result >= 0 && (found.is_upper || !note(&found, LOG_LINK))) return 0;
  return answer(f, result);
}

/* Leaves the layer's marks out of what the kernel listed, and puts the numbers there that programs see. */
static long tidy(char *list, long len, u64 dev) {
  for (long at = 0; at + 24 <= len;) {
    char *entry = list + at;
    long size = *(volatile unsigned short *)(entry + 16);
    /* Another thread may write there. */
    if (size < 24 || size > len - at) break;
    if (entry[19] == '.' && entry[20] == 1) {
      copy(entry, entry + size, len - at - size);
      len -= size;
      continue;
    }
    *(u64 *)entry = shown(dev, *(u64 *)entry);
    at += size;
  }
  return len;
}

static int do_getdents(struct frame *f) {
  struct stat st;
  if (gate(SYS_fstat, f->a[0], (long)&st, 0, 0, 0) != 0) return 0;
  u32 kind = file_kind(st.dev, st.ino);
  if (kind == 0) return answer(f, gate(f->number, f->a[0], f->a[1], f->a[2], 0, 0));
  u64 position = gate(SYS_lseek, f->a[0], 0, SEEK_CUR, 0, 0);
  if ((position & ~(LIST_END | LIST_NUMBER)) == LIST_OURS || kind == FILE_SERVED) {
    /* The server has given all that there is. */
    return (position & ~LIST_NUMBER) == (LIST_OURS | LIST_END) ? answer(f, 0) : 0;
  }
  if (f->number == SYS_getdents) return 0;
  for (;;) {
    long len = gate(SYS_getdents64, f->a[0], f->a[1], f->a[2], 0, 0);
    if (len <= 0 || (len = tidy((char *)f->a[1], len, st.dev)) > 0) return answer(f, len);
  }
}

/* The server may have to replace the path while the kernel reads it. A child of vfork has that in its parent's memory, which goes on with it:
 * the call has one of its own. */
static int do_exec(struct frame *f, struct state *s) {
  char room[LONGEST];
  struct path p = {.text = (char *)f->a[0]};
  if (!can_read(s, f->a[0]) || !scan(s, &p, HASH_START)) return 0;
  *(char *)copy(room, p.text, p.len) = 0;
  return answer(f, served(SYS_execve, (long)room, f->a[1], f->a[2]));
}

/* Answers the call, or says that it can't. */
__attribute__((used)) int emulate(struct frame *f, struct state *s) {
  const u64 *a = f->a;
  if (WORD(HEADER + IS_OFF)) return 0;
  switch (f->number) {
  case SYS_open: return do_open(f, s, AT_FDCWD, (char *)a[0], (u32)a[1]);
  case SYS_openat: return do_open(f, s, (int)a[0], (char *)a[1], (u32)a[2]);
  case SYS_stat: return do_stat(f, s, AT_FDCWD, (char *)a[0], (struct stat *)a[1], 0);
  case SYS_lstat: return do_stat(f, s, AT_FDCWD, (char *)a[0], (struct stat *)a[1], AT_SYMLINK_NOFOLLOW);
  case SYS_fstat: return do_fstat(f, (int)a[0], (struct stat *)a[1]);
  case SYS_newfstatat: return do_stat(f, s, (int)a[0], (char *)a[1], (struct stat *)a[2], (u32)a[3]);
  case SYS_statx: return do_statx(f, s, (int)a[0], (char *)a[1], (u32)a[2], (u32)a[3], (char *)a[4]);
  case SYS_access: return do_access(f, s, AT_FDCWD, (char *)a[0], (u32)a[1], 0);
  case SYS_faccessat: return do_access(f, s, (int)a[0], (char *)a[1], (u32)a[2], 0);
  case SYS_faccessat2: return do_access(f, s, (int)a[0], (char *)a[1], (u32)a[2], (u32)a[3]);
  case SYS_getxattr:
  case SYS_lgetxattr: return do_getxattr(f, s, (char *)a[0]);
  case SYS_readlink: return do_readlink(f, s, AT_FDCWD, (char *)a[0], (char *)a[1], (u32)a[2]);
  case SYS_readlinkat: return do_readlink(f, s, (int)a[0], (char *)a[1], (char *)a[2], (u32)a[3]);
  case SYS_execve: return do_exec(f, s);
  /* Filters of its own may not know what this calls instead. */
  case SYS_seccomp: s->ready = 2; return 0;
  case SYS_prctl:
    if (a[0] == PR_SET_SECCOMP) s->ready = 2;
    return 0;
  case SYS_exit_group: return s->forked ? 0 : answer(f, gate(SYS_exit_group, a[0], 0, 0, 0, 0));
  case SYS_getdents:
  case SYS_getdents64: return do_getdents(f);
  default: return 0;
  }
}

static long map(u64 at, u64 end, long protection, int fd) {
  register long flags __asm__("r10") = 0x100001; /* MAP_SHARED | MAP_FIXED_NOREPLACE */
  register long file __asm__("r8") = fd;
  register u64 offset __asm__("r9") = at;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(SYS_mmap), "D"(BASE + at), "S"(end - at), "d"(protection), "r"(flags), "r"(file), "r"(offset)
                   : "rcx", "r11", "memory");
  return result;
}

/* Makes the library ready in a process, once: its text is there, `fd` is the memory. If anything is not as it must be, all calls go to the
 * server. */
__attribute__((used)) void prepare(int fd, struct state *s) {
  char prefix[PREFIX_MAX + 1];
  if (map(HEADER, SEEN, 1, fd) != (long)(BASE + HEADER) || map(SEEN, SIZE, 3, fd) != (long)(BASE + SEEN)) return;
  *(char *)copy(prefix, AT(char, HEADER + PREFIX), WORD(HEADER + PREFIX_LEN)) = 0;
  /* Where this program is interpreted, another one makes the calls, and the net catches those. Only then is the layer not there. */
  struct stat st;
  if (WORD(HEADER + PREFIX_LEN) && gate(SYS_newfstatat, AT_FDCWD, (long)prefix, (long)&st, 0, 0) != 0) return;
  __atomic_store_n(&s->ready, 1, __ATOMIC_RELEASE);
}
