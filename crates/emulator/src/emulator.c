/* The emulation library: it answers a program's looks at names in the program's own process, with one call of the kernel or none, where the
 * server's index says that no layer has to do with them; all else it passes on, and the net catches it.
 *
 * It is entered from rewritten sites of the C library (src/rewrite.rs) with the registers of a system call. Only general registers are used,
 * so that no others need saving; it has no data but what the site's library keeps for it (struct state) and what the server shares
 * (src/layout.rs). A signal may interrupt it anywhere and enter it again: nothing waits for anything. What it reads of the index may be
 * changed meanwhile; then the server answers.
 */

#include "kernel.h"
#include "index.h"
#include "path.h"

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

/* What is found in the layer, or is a directory on the way, may be the server's. */
static int may_be_served(const struct found *found) { return found->is_upper || found->is_dir; }

/* Whether a link was found that is the server's. */
static int is_served_link(const struct found *found, u32 mode, u64 len) { return is_link(mode) && (found->is_dir || !is_seen_link(found, len)); }

/* Opens a file of the topmost layer's. A directory on the way may have become a link meanwhile, which leads out of there. */
static long open_upper(const struct found *found, u64 flags) {
  struct {
    u64 flags, mode, resolve;
  } how = {flags | O_LARGEFILE, 0, RESOLVE_NO_SYMLINKS};
  return gate(SYS_openat2, AT_FDCWD, (long)found->real, (long)&how, sizeof how, 0);
}

/* Opens a device of the host's to write, such as /dev/null: it is the same one in a layer, and nothing is made. -ENOENT: there is none. */
static long open_device(const struct found *found, u64 flags) {
  struct stat st;
  if (found->is_upper || !begins(found->name, found->len, "/dev", 4)) return -ENOENT;
  if (gate(SYS_newfstatat, AT_FDCWD, (long)found->name, (long)&st, AT_SYMLINK_NOFOLLOW, 0) != 0 || (st.mode & S_IFMT) != S_IFCHR) return -ENOENT;
  long fd = gate(SYS_openat, AT_FDCWD, (long)found->name, (flags & ~(u64)O_TRUNC) | O_NOFOLLOW, 0, 0);
  if (fd < 0 || (gate(SYS_fstat, fd, (long)&st, 0, 0, 0) == 0 && (st.mode & S_IFMT) == S_IFCHR)) return fd;
  /* Another is there meanwhile. */
  gate(SYS_close, fd, 0, 0, 0, 0);
  return -ENOENT;
}

/* An open that may change something. The server makes the file in the layer; a regular file that is there already is opened here, and what
 * the server has made: handing it over would take the kernel two more switches of threads. */
__attribute__((noinline)) static int do_open_to_write(struct frame *f, struct state *s, int dir, const char *text, u64 flags, u64 mode) {
  struct found found;
  struct stat st;
  const u64 all = O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_NOCTTY | O_NONBLOCK | O_LARGEFILE | O_NOFOLLOW | O_CLOEXEC;
  u64 access = flags & O_ACCMODE, rest = flags & ~(u64)(O_CREAT | O_EXCL);
  int is_new = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  if (flags & ~all || access == O_ACCMODE || (access == 0 && flags & O_TRUNC) || WORD(HEADER + WRITES_ARE_OFF)) return 0;
  enum way way = locate_for(s, dir, text, &found, 1);
  if (!found.is_named) return 0;
  if (way == NATIVE && found.is_upper && !found.is_dir && !is_new
      && gate(SYS_newfstatat, AT_FDCWD, (long)found.real, (long)&st, AT_SYMLINK_NOFOLLOW, 0) == 0 && (st.mode & S_IFMT) == S_IFREG) {
    if (access != O_WRONLY && !(flags & O_TRUNC) && !note(&found, LOG_OPENED)) return 0;
    long fd = open_upper(&found, rest);
    return fd == -ENOENT || fd == -ELOOP || fd == -ENOTDIR || fd == -EACCES ? 0 : answer(f, fd);
  }
  long device = way == NATIVE && !is_new ? open_device(&found, rest) : -ENOENT;
  if (device != -ENOENT && device != -ELOOP) return answer(f, device);
  long made = ask(text, ASK_OPEN, dir, flags | mode << 32, found.key);
  if (made == AS_IT_IS) return answer(f, gate(SYS_openat, AT_FDCWD, (long)text, flags, mode, 0));
  if (made < 0 || !(made & MADE)) return answer(f, made);
  long fd = open_upper(&found, rest);
  if (fd == -ENOENT) return 0;
  if (fd == -EMFILE || fd == -ENFILE) return answer(f, fd);
  /* It is there now. */
  if (fd < 0) return answer(f, ask(text, ASK_OPEN, dir, (flags & ~(u64)O_EXCL) | mode << 32, 0));
  /* Another has put its own there. */
  if (is_new && (gate(SYS_fstat, fd, (long)&st, 0, 0, 0) != 0 || (st.ino | MADE) != (u64)made)) {
    gate(SYS_close, fd, 0, 0, 0, 0);
    return answer(f, -EEXIST);
  }
  return answer(f, fd);
}

/* Opens a directory that shows the host's, which is the host's where it is open. */
static int do_open_both(struct frame *f, struct found *found, u64 flags) {
  long fd = gate(SYS_openat, AT_FDCWD, (long)found->name, flags | O_NOFOLLOW | O_DIRECTORY, 0, 0);
  if (fd < 0) return 0;
  if (note(found, LOG_LISTED)) return answer(f, fd);
  gate(SYS_close, fd, 0, 0, 0, 0);
  return 0;
}

/* The C library that the dynamic loader opens is the rewritten one, where the file is the one that this is made of. The server makes that, and
 * what of it is the loader's call it can't tell by itself. */
static int do_open_library(struct frame *f, enum way way, struct found *found, int dir, const char *text, u64 flags) {
  struct stat st;
  u64 dev = __atomic_load_n(AT(u64, HEADER + LIBRARY), __ATOMIC_ACQUIRE);
  if (dev && way == NATIVE && flags == O_CLOEXEC && !found->is_upper && gate(SYS_newfstatat, AT_FDCWD, (long)found->real, (long)&st, AT_SYMLINK_NOFOLLOW, 0) == 0
      && st.dev == dev && st.ino == WORD(HEADER + LIBRARY + 8) && st.size == WORD(HEADER + LIBRARY + 16)
      && st.mtime[0] == WORD(HEADER + LIBRARY + 24) && note(found, LOG_OPENED)) {
    long fd = gate(SYS_openat, AT_FDCWD, BASE + HEADER + LIBRARY_PATH, flags, 0, 0);
    if (fd >= 0) return answer(f, fd);
  }
  long fd = ask(text, ASK_LIBRARY, dir, flags, 0);
  return answer(f, fd == AS_IT_IS ? gate(SYS_openat, AT_FDCWD, (long)text, flags, 0, 0) : fd);
}

static int is_library(const char *text) {
  const char name[] = {'/', 'l', 'i', 'b', 'c', '.', 's', 'o', '.', '6', 0};
  u64 at = 0;
  for (; *text; text++) at = *text == name[at] ? at + 1 : *text == '/';
  return at == sizeof name - 1;
}

/* Links at the end of a path are followed so often; the others are the server's. */
enum { LINKS = 8 };

/* A descriptor that stands for a file and can't be read, which the server can't hand over. */
static int do_open_path(struct frame *f, struct state *s, int dir, const char *text, u64 flags) {
  struct found found;
  struct stat st;
  struct {
    u64 flags, mode, resolve;
  } how = {(flags & (O_PATH | O_DIRECTORY | O_CLOEXEC)) | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS};
  char to[LONGEST];
  u32 links = 0;
again:;
  enum way way = locate_for(s, dir, text, &found, 0);
  if (way == ABSENT) return absent(f, &found);
  if (way == SERVED) return 0;
  if (way == BOTH) {
    /* Which is the host's where it is open. */
    how.flags |= O_DIRECTORY;
    found.real = found.name;
  }
  long fd = gate(SYS_openat2, found.dir, (long)found.real, (long)&how, sizeof how, 0);
  if (fd == -EMFILE || fd == -ENFILE) return answer(f, fd);
  if (way == BOTH) return fd < 0 ? 0 : answer(f, fd);
  if (fd == -ENOENT) return absent(f, &found);
  if (fd >= 0) {
    int is_seen = gate(SYS_fstat, fd, (long)&st, 0, 0, 0) == 0 && (!is_link(st.mode) || (flags & O_NOFOLLOW && is_seen_link(&found, st.size)));
    if (is_seen) return answer(f, fd);
    gate(SYS_close, fd, 0, 0, 0, 0);
  } else if (fd != -ENOTDIR) {
    return 0;
  }
  if (flags & O_NOFOLLOW || links++ >= LINKS || !(text = target(&found, to))) return 0;
  dir = AT_FDCWD;
  goto again;
}

static int do_open(struct frame *f, struct state *s, int dir, const char *text, u64 flags, u64 mode) {
  struct found found;
  char to[LONGEST];
  u32 links = 0;
  if (flags & O_PATH) return do_open_path(f, s, dir, text, flags);
  if (flags & (O_ACCMODE | O_CREAT | O_TRUNC)) return do_open_to_write(f, s, dir, text, flags, (u32)mode);
  if (flags & ~(u64)(O_NOCTTY | O_NONBLOCK | O_LARGEFILE | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) return 0;
again:;
  enum way way = locate_for(s, dir, text, &found, 0);
  if (way == ABSENT) return absent(f, &found);
  if (s == LOADER_STATE && links == 0 && is_library(text)) return do_open_library(f, way, &found, dir, text, flags);
  if (way == SERVED) return 0;
  if (way == BOTH) return do_open_both(f, &found, flags);
  u32 kind = found.is_dir || flags & O_DIRECTORY ? LOG_LISTED : LOG_OPENED;
  /* Not opened twice: the other end of a FIFO would see it. */
  if (!found.name && !note(&found, kind)) return 0;
  /* A link leads to a name that the kernel doesn't know. */
  long fd = gate(SYS_openat, found.dir, (long)found.real, flags | O_NOFOLLOW, 0, 0);
  if (fd == -ENOENT) return absent(f, &found);
  /* The process's own rules (landlock(7)) don't know the layer's directory. */
  if (fd == -EACCES && found.is_upper) return 0;
  int may_be_link = fd == -ELOOP || (fd == -ENOTDIR && flags & O_DIRECTORY);
  if (may_be_link && !(flags & O_NOFOLLOW) && links++ < LINKS && (text = target(&found, to))) {
    dir = AT_FDCWD;
    goto again;
  }
  if (may_be_link && (found.is_upper || !(flags & O_NOFOLLOW))) return 0;
  if (fd >= 0 && found.name && !note(&found, kind)) {
    gate(SYS_close, fd, 0, 0, 0, 0);
    return 0;
  }
  return answer(f, fd);
}

static int is_later(const u64 *one, const u64 *other) { return (long)one[0] > (long)other[0] || (one[0] == other[0] && one[1] > other[1]); }

/* fstat, also in the form of newfstatat. */
static int do_fstat(struct frame *f, long fd, struct stat *buffer) {
  long result = gate(SYS_fstat, fd, (long)buffer, 0, 0, 0);
  return result == 0 && !show(buffer->dev, &buffer->ino, buffer->mode) ? 0 : answer(f, result);
}

/* A directory of both shows the host's attributes, but for the times of the layer's where those are later, and the count of its names: neither
 * knows how many directories are in it. */
static int do_stat_both(struct frame *f, const struct found *found, struct stat *buffer) {
  struct stat upper;
  if (gate(SYS_newfstatat, AT_FDCWD, (long)found->real, (long)&upper, AT_SYMLINK_NOFOLLOW, 0) != 0) return 0;
  if (gate(SYS_newfstatat, AT_FDCWD, (long)found->name, (long)buffer, AT_SYMLINK_NOFOLLOW, 0) != 0) return 0;
  if ((buffer->mode & upper.mode & S_IFMT) != S_IFDIR) return 0;
  buffer->nlink = 1;
  if (is_later(upper.mtime, buffer->mtime)) {
    copy(buffer->mtime, (const char *)upper.mtime, sizeof upper.mtime);
    copy(buffer->ctime, (const char *)upper.ctime, sizeof upper.ctime);
  }
  return answer(f, 0);
}

static int do_stat(struct frame *f, struct state *s, int dir, const char *text, struct stat *buffer, u64 flags) {
  struct found found;
  char to[LONGEST];
  u32 links = 0;
  if (flags & ~(u64)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT) || !can_read(s, (u64)text)) return 0;
  if (text[0] == 0) return flags & AT_EMPTY_PATH && dir != AT_FDCWD ? do_fstat(f, dir, buffer) : 0;
  flags &= ~(u64)AT_EMPTY_PATH;
again:;
  enum way way = locate_for(s, dir, text, &found, 0);
  if (way == ABSENT) return absent(f, &found);
  if (way == SERVED) return 0;
  if (way == BOTH) return do_stat_both(f, &found, buffer);
  long result = gate(SYS_newfstatat, found.dir, (long)found.real, (long)buffer, flags | AT_SYMLINK_NOFOLLOW, 0);
  if (result == -ENOENT) return absent(f, &found);
  if (result == 0 && may_be_served(&found) && (is_served_link(&found, buffer->mode, buffer->size) || !show(buffer->dev, &buffer->ino, buffer->mode))) return 0;
  if (result == 0 && !(flags & AT_SYMLINK_NOFOLLOW) && is_link(buffer->mode)) {
    if (links++ >= LINKS || !(text = target(&found, to))) return 0;
    dir = AT_FDCWD;
    goto again;
  }
  return answer(f, result);
}

/* As `show`, of what statx has told. */
static int show_statx(char *buffer) {
  u64 major = *(u32 *)(buffer + 136), minor = *(u32 *)(buffer + 140);
  return show((minor & 0xff) | major << 8 | (minor & ~0xffUL) << 12, (u64 *)(buffer + 32), *(unsigned short *)(buffer + 28));
}

/* The same of it by statx, for which the time of the last change of attributes is the host's. */
static int do_statx_both(struct frame *f, const struct found *found, u64 flags, u64 mask, char *buffer) {
  struct stat upper, lower;
  if (gate(SYS_newfstatat, AT_FDCWD, (long)found->real, (long)&upper, AT_SYMLINK_NOFOLLOW, 0) != 0) return 0;
  if (gate(SYS_newfstatat, AT_FDCWD, (long)found->name, (long)&lower, AT_SYMLINK_NOFOLLOW, 0) != 0) return 0;
  if (gate(SYS_statx, AT_FDCWD, (long)found->name, flags, mask, (long)buffer) != 0) return 0;
  if ((lower.mode & upper.mode & *(unsigned short *)(buffer + 28) & S_IFMT) != S_IFDIR) return 0;
  const u64 *mtime = is_later(upper.mtime, lower.mtime) ? upper.mtime : lower.mtime;
  *(u32 *)(buffer + 16) = 1;
  *(u64 *)(buffer + 112) = mtime[0];
  *(u32 *)(buffer + 120) = mtime[1];
  return answer(f, 0);
}

static int do_statx(struct frame *f, struct state *s, int dir, const char *text, u64 flags, u64 mask, char *buffer) {
  struct found found;
  char to[LONGEST];
  u32 links = 0;
  int follows = !(flags & AT_SYMLINK_NOFOLLOW);
  /* 0x6000: whether another machine is asked. */
  if (flags & ~(u64)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT | 0x6000) || !can_read(s, (u64)text)) return 0;
  flags |= AT_SYMLINK_NOFOLLOW;
  mask |= STATX_TYPE | STATX_INO | STATX_SIZE;
  if (text[0] == 0) {
    if (!(flags & AT_EMPTY_PATH) || dir == AT_FDCWD) return 0;
    long result = gate(SYS_statx, dir, (long)text, flags, mask, (long)buffer);
    return result == 0 && !show_statx(buffer) ? 0 : answer(f, result);
  }
  flags &= ~(u64)AT_EMPTY_PATH;
again:;
  enum way way = locate_for(s, dir, text, &found, 0);
  if (way == ABSENT) return absent(f, &found);
  if (way == SERVED) return 0;
  if (way == BOTH) return do_statx_both(f, &found, flags, mask, buffer);
  long result = gate(SYS_statx, found.dir, (long)found.real, flags, mask, (long)buffer);
  if (result == -ENOENT) return absent(f, &found);
  u32 mode = *(unsigned short *)(buffer + 28);
  if (result == 0 && may_be_served(&found) && (is_served_link(&found, mode, *(u64 *)(buffer + 40)) || !show_statx(buffer))) return 0;
  if (result != 0 || !is_link(mode) || !follows) return answer(f, result);
  if (links++ >= LINKS || !(text = target(&found, to))) return 0;
  dir = AT_FDCWD;
  goto again;
}

/* Whether what is found is the kernel's to look at more closely, and no link. If not, `result` says what of it is to be answered: 0, the
 * server does. */
static int is_plain(const struct found *found, long *result) {
  struct stat st;
  *result = gate(SYS_newfstatat, found->dir, (long)found->real, (long)&st, AT_SYMLINK_NOFOLLOW, 0);
  if (*result != 0) return 0;
  return !is_link(st.mode) && !(may_be_served(found) && is_served_file(st.dev, st.ino, st.mode));
}

/* Whether the host has a directory where one of both is. */
static int is_host_dir(const struct found *found) {
  struct stat st;
  return gate(SYS_newfstatat, AT_FDCWD, (long)found->name, (long)&st, AT_SYMLINK_NOFOLLOW, 0) == 0 && (st.mode & S_IFMT) == S_IFDIR;
}

static int do_access(struct frame *f, struct state *s, int dir, const char *text, u64 mode, u64 flags) {
  struct found found;
  char to[LONGEST];
  u32 links = 0;
  long result;
  /* What may be written depends on rules. */
  if (mode & ~(u64)(R_OK | W_OK | X_OK) || (mode & W_OK && WORD(HEADER + WRITES_ARE_OFF)) || flags & ~(u64)AT_EACCESS) return 0;
again:;
  enum way way = locate_for(s, dir, text, &found, 0);
  if (way == ABSENT) return absent(f, &found);
  if (way == SERVED) return 0;
  if (way == BOTH) {
    found.real = found.name;
    if (!is_host_dir(&found)) return 0;
    result = 0;
  } else if (!is_plain(&found, &result)) {
    if (result) return result == -ENOENT ? absent(f, &found) : answer(f, result);
    if (links++ >= LINKS || !(text = target(&found, to))) return 0;
    dir = AT_FDCWD;
    goto again;
  }
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
  enum way way = locate_for(s, dir, text, &found, 0);
  if (way == ABSENT) return absent(f, &found);
  if (way == BOTH && is_host_dir(&found)) return answer(f, -EINVAL);
  if (way == SERVED || way == BOTH) return 0;
  if (found.is_upper && size < MARK_LEN) return 0;
  long result = gate(SYS_readlinkat, found.dir, (long)found.real, (long)buffer, size, 0);
  if (result == -ENOENT) return absent(f, &found);
  if (result >= 0 && (!is_seen_link(&found, result) || !note(&found, LOG_LINK))) return 0;
  return answer(f, result);
}

/* What follows the first two bytes of a mark's name: "slipway-". */
#define MARK 0x2d79617770696c73UL

/* Leaves the layer's marks out of what the kernel listed, and puts the numbers there that programs see. */
static long tidy(char *list, long len, u64 dev) {
  for (long at = 0; at + 24 <= len;) {
    char *entry = list + at;
    long size = *(volatile unsigned short *)(entry + 16);
    /* Another thread may write there. */
    if (size < 24 || size > len - at) break;
    if (entry[19] == '.' && entry[20] == 1 && size >= 32 && *(u64 *)(entry + 21) == MARK) {
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
  if (kind == 0 && WORD(HEADER + DIRS_ARE_OFF)) return 0;
  if (kind == 0) return answer(f, gate(f->number, f->a[0], f->a[1], f->a[2], 0, 0));
  u64 position = gate(SYS_lseek, f->a[0], 0, SEEK_CUR, 0, 0);
  if ((position & ~(LIST_END | LIST_NUMBER)) == LIST_OURS || is_served_kind(kind, st.mode)) {
    /* The server has given all that there is. */
    return (position & ~LIST_NUMBER) == (LIST_OURS | LIST_END) ? answer(f, 0) : 0;
  }
  if (f->number == SYS_getdents) return 0;
  for (;;) {
    long len = gate(SYS_getdents64, f->a[0], f->a[1], f->a[2], 0, 0);
    if (len <= 0 || (len = tidy((char *)f->a[1], len, st.dev)) > 0) return answer(f, len);
  }
}

/* A process that has children has the server enter them before it ends, or runs a program that knows of none. */
static int has_children(const struct state *s) {
  return s->forked && gate(SYS_waitid, P_ALL, 0, 0, WEXITED | WNOHANG | WNOWAIT | WALL, 0) != -ECHILD;
}

/* Whether the kernel runs by a path, as it is, what the server would have it run: a program of the host's that is no script, whose interpreter
 * may be another one in the view. Then that is noted. `found` is of the path; what it leads to is put there. */
static int is_for_kernel(struct state *s, const char *path, struct found *found) {
  struct stat st, by_path;
  char to[LONGEST];
  u32 links = 0, head = 0;
  const char *text = path;
  for (;;) {
    if (found->is_upper || found->is_dir || gate(SYS_newfstatat, AT_FDCWD, (long)found->real, (long)&st, AT_SYMLINK_NOFOLLOW, 0) != 0) return 0;
    if (!is_link(st.mode)) break;
    if (links++ >= LINKS || !(text = target(found, to)) || locate(s, AT_FDCWD, text, found) != NATIVE) return 0;
  }
  if (path[0] != '/' || (st.mode & S_IFMT) != S_IFREG) return 0;
  if (gate(SYS_newfstatat, AT_FDCWD, (long)path, (long)&by_path, 0, 0) != 0 || by_path.dev != st.dev || by_path.ino != st.ino) return 0;
  if (gate(SYS_faccessat2, AT_FDCWD, (long)found->real, X_OK, AT_EACCESS, 0) != 0) return 0;
  long fd = gate(SYS_openat, AT_FDCWD, (long)found->real, O_CLOEXEC | O_NOFOLLOW, 0, 0);
  if (fd < 0) return 0;
  gate(SYS_pread64, fd, (long)&head, sizeof head, 0, 0);
  gate(SYS_close, fd, 0, 0, 0, 0);
  return head == ELF && note(found, LOG_RAN);
}

/* Where there is no such name, as in most directories of a PATH, the server has nothing to do, nor where the kernel finds the program as it is.
 * Else it may have to replace the path while the kernel reads it. A child of vfork has that in its parent's memory, which goes on with it: the
 * call has one of its own. */
static int do_exec(struct frame *f, struct state *s) {
  struct found found;
  struct stat st;
  struct path p = {.text = (char *)f->a[0]};
  enum way way = locate(s, AT_FDCWD, p.text, &found);
  if (way == ABSENT) return absent(f, &found);
  if (way == NATIVE && gate(SYS_newfstatat, found.dir, (long)found.real, (long)&st, AT_SYMLINK_NOFOLLOW, 0) == -ENOENT) return absent(f, &found);
  if (way == NATIVE && !has_children(s) && is_for_kernel(s, p.text, &found)) return answer(f, gate(SYS_execve, (long)p.text, f->a[1], f->a[2], 0, 0));
  if (!can_read(s, f->a[0]) || !scan(s, &p, HASH_START)) return 0;
  *(char *)copy(found.room, p.text, p.len) = 0;
  return answer(f, served(SYS_execve, (long)found.room, f->a[1], f->a[2]));
}

/* The kernel writes to memory of the program's where that may not be the library's to write: whether it can. */
static int can_write(char *to, u64 len) {
  return gate(SYS_rt_sigprocmask, 0, 0, (long)to, 8, 0) == 0 && (len <= 8 || gate(SYS_rt_sigprocmask, 0, 0, (long)(to + len - 8), 8, 0) == 0);
}

static int do_getcwd(struct frame *f, struct state *s, char *buffer, u64 size) {
  struct found found;
  struct stat st;
  u64 h, count, version;
  long len = cwd(s, &h, &count);
  if (len < 0) return 0;
  /* The root's has a slash; and a zero after it. */
  u64 whole = (len ? len : 1) + 1;
  if (size < whole || size < 8 || !can_write(buffer, whole)) return 0;
  /* It may have been removed. One that the layer and the host have is looked at on the host. */
  const char *real = s->cwd;
  if (locate(s, AT_FDCWD, ".", &found) == NATIVE) {
    real = found.real;
  } else {
    const volatile struct dir *d = looked_up(h, &version);
    if (!d || (d->what & (3 | DIR_IS_OVER)) != DIR_HOST) return 0;
  }
  if (gate(SYS_newfstatat, AT_FDCWD, (long)real, (long)&st, AT_SYMLINK_NOFOLLOW, 0) != 0 || (st.mode & S_IFMT) != S_IFDIR) return 0;
  copy(buffer, s->cwd, whole - 1);
  buffer[whole - 1] = 0;
  return is_same_cwd(s, count) ? answer(f, whole) : 0;
}

/* From here on the server answers all calls of the process. */
static int end(struct state *s) {
  s->ready = 2;
  if (s->has_loader) LOADER_STATE->ready = 2;
  return 0;
}

/* Whether the kernel lets no signal interrupt the call, which the server carries out or lets pass: src/rewrite.rs has the same. */
static int is_whole(long number) {
  switch (number) {
  case 4 ... 6: case 21: case 49: case 51: case 52: case 59: case 76: case 78 ... 84: case 86 ... 95: case 105: case 106: case 113: case 114:
  case 116: case 117: case 119: case 122: case 123: case 132: case 133: case 137: case 188 ... 192: case 194: case 195: case 197 ... 199:
  case 217: case 235: case 254: case 258 ... 269: case 280: case 316: case 332: case 439: case 452: return 1;
  default: return 0;
  }
}

/* Answers the call here, or says that the server does. */
static int is_answered(struct frame *f, struct state *s) {
  const u64 *a = f->a;
  if (WORD(HEADER + IS_OFF)) return 0;
  switch (f->number) {
  case SYS_open: return do_open(f, s, AT_FDCWD, (char *)a[0], (u32)a[1], a[2]);
  case SYS_openat: return do_open(f, s, (int)a[0], (char *)a[1], (u32)a[2], a[3]);
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
  case SYS_getcwd: return do_getcwd(f, s, (char *)a[0], a[1]);
  case SYS_execve: return do_exec(f, s);
  /* Filters of its own may not know what this calls instead. */
  case SYS_seccomp: return end(s);
  case SYS_prctl: return a[0] == PR_SET_SECCOMP ? end(s) : 0;
  case SYS_exit_group: return has_children(s) ? 0 : answer(f, gate(SYS_exit_group, a[0], 0, 0, 0, 0));
  case SYS_getdents:
  case SYS_getdents64: return do_getdents(f);
  default: return 0;
  }
}

/* Answers the call, or says that it is to be made as it is. */
__attribute__((used)) int emulate(struct frame *f, struct state *s) {
  const u64 *a = f->a;
  if (is_answered(f, s)) return 1;
  return is_whole(f->number) ? answer(f, caught(f->number, a[0], a[1], a[2], a[3], a[4], a[5])) : 0;
}

static long map(u64 at, u64 end, long protection, long how, int fd) {
  register long flags __asm__("r10") = how;
  register long file __asm__("r8") = fd;
  register u64 offset __asm__("r9") = fd < 0 ? 0 : at;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(SYS_mmap), "D"(BASE + at), "S"(end - at), "d"(protection), "r"(flags), "r"(file), "r"(offset)
                   : "rcx", "r11", "memory");
  return result == (long)(BASE + at);
}

/* Maps the memory, and the loader's state where that is asked for: whether all is as it must be. */
static int map_all(int fd, int for_loader) {
  char prefix[PREFIX_MAX + 1];
  struct stat st;
  if (!map(HEADER, SEEN, 1, MAP_SHARED | MAP_FIXED_NOREPLACE, fd) || !map(SEEN, SIZE, 3, MAP_SHARED | MAP_FIXED_NOREPLACE, fd)) return 0;
  if (for_loader && !map(LOADER, LOADER + LOADER_SIZE, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1)) return 0;
  *(char *)copy(prefix, AT(char, HEADER + PREFIX), WORD(HEADER + PREFIX_LEN)) = 0;
  /* Where this program is interpreted, another one makes the calls, and the net catches those. Only then is the layer not there. */
  return WORD(HEADER + PREFIX_LEN) == 0 || gate(SYS_newfstatat, AT_FDCWD, (long)prefix, (long)&st, 0, 0) == 0;
}

/* Makes the library ready in a process: its text is there, `fd` is the memory. The first time for the loader, which has no state yet; then
 * for the C library, without a descriptor; or the first time for that. If anything is not as it must be, all calls go to the server: whether
 * it is. */
__attribute__((used)) int prepare(int fd, struct state *s) {
  if (fd >= 0 && !map_all(fd, !s)) return 0;
  if (!s) {
    s = LOADER_STATE;
    s->forks = LOADER_MARK;
  } else {
    s->has_loader = fd < 0;
    take_start(s);
  }
  __atomic_store_n(&s->ready, 1, __ATOMIC_RELEASE);
  return 1;
}
