/* Where names are: a path as a program wrote it, its place for the kernel, and what it is called in the tree. */

/* Longer paths are the server's: the stack may be a small one. */
enum { LONGEST = 320, ROOM = PREFIX_MAX + DIR_NAME_MAX + LONGEST, NAMED_MAX = PREFIX_MAX + DIR_NAME_MAX };

/* Not of the process: threads may have descriptors of their own. */
#define FDS "/proc/thread-self/fd/"

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

/* Takes over what the server has said of the working directory, which it did when this process asked for the memory. */
static void take_start(struct state *s) {
  u64 pid = gate(SYS_getpid, 0, 0, 0, 0, 0), slot = pid & (CWDS_COUNT - 1), changes = WORD(CWDS + HEADER + 8 * slot);
  const volatile struct dir *start = AT(struct dir, STARTS + DIR_SIZE * (pid & (STARTS_COUNT - 1)));
  u64 version = __atomic_load_n(&start->count, __ATOMIC_ACQUIRE), what = start->what, len = what & ((1 << START_SHIFT) - 1);
  if (version & 1 || start->key != pid || what >> START_SHIFT != changes || len > DIR_NAME_MAX) return;
  *(char *)copy(s->cwd, (const char *)start->name, len) = 0;
  u64 h = start->hash;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if (start->count != version) return;
  s->slot = slot;
  s->changes = changes;
  s->hash = h;
  /* As the call returns it. */
  s->len = len + 1;
  s->count = 2;
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
  struct stat st;
  const u64 prefix = WORD(HEADER + PREFIX_LEN), store = WORD(HEADER + STORE_LEN);
  if (fd < 0 || store == 0 || WORD(HEADER + DIRS_ARE_OFF)) return -1;
  /* By its name, a link would be followed. */
  if (gate(SYS_fstat, fd, (long)&st, 0, 0, 0) != 0 || (st.mode & S_IFMT) == S_IFLNK) return -1;
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

/* A path as it was written: its length, where its last slash is, and the one before; hashes of what is before these, and of the whole. */
struct path {
  const char *text;
  long len, slash, above_slash;
  u64 dir, above, whole;
};

/* Whether it was read to its end. */
static int scan(struct state *s, struct path *p, u64 h) {
  const char *text = p->text;
  p->slash = p->above_slash = -1;
  p->dir = p->above = h;
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
      p->above_slash = p->slash;
      p->above = p->dir;
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

enum way { SERVED, NATIVE, ABSENT, BOTH };

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
  /* For what writes: the name is known, whatever is there. */
  int is_named;
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
  if (is_served_kind(kind, st.mode)) return 0;
  f->dir = dir;
  f->real = text;
  f->name = 0;
  f->is_upper = kind == FILE_ALONE;
  f->is_dir = 0;
  /* The number of one that the command made may become another's. */
  f->key = f->is_upper ? 0 : hash(p.whole, (const char *)&st, 16);
  return 1;
}

/* The directory of a path that the server has looked up, and its count then; 0: it has not. */
static const volatile struct dir *looked_up(u64 key, u64 *version) {
  for (u64 n = 0; n < SOME + DIR_PROBES; n++) {
    const volatile struct dir *d = AT(struct dir, DIRS + DIR_SIZE * place(key, DIRS_COUNT, n));
    *version = __atomic_load_n(&d->count, __ATOMIC_ACQUIRE);
    if (*version == 0) break;
    if (!(*version & 1) && d->key == key) return d;
  }
  return 0;
}

/* How often a directory is looked at here before the server is asked for it, of all processes together. */
enum { LOOKS = 16 };

/* A directory in one that the server has looked up: it is the host's, too, where that is, no layer says anything of its name, and the kernel has
 * a directory there; or it is not there. What it is, or DIR_SERVED. A few times: then the server says it once for all. */
static u64 look_at_child(const struct path *p, struct found *f, const volatile struct dir *parent, u64 version, u64 *h, u64 *len) {
  struct stat st;
  const char *name = p->text + p->above_slash + 1;
  long count = p->slash - p->above_slash - 1;
  u64 what = parent->what, above = what >> DIR_LEN_SHIFT;
  if (p->slash < 1 || !is_name(name, count) || (what & (3 | DIR_IS_OVER)) != DIR_HOST || above + 1 + count > DIR_NAME_MAX) return DIR_SERVED;
  *h = hash((parent->hash ^ '/') * HASH_FACTOR, name, count);
  if (find(NAMES, NAMES_COUNT, *h)) return DIR_SERVED;
  u32 times = 0;
  while (times < LOOKS && record(p->dir, LOG_DIR + times, 0, 0)) times++;
  if (times == LOOKS) return DIR_SERVED;
  char *to = copy(f->room, (const char *)parent->name, above);
  *to++ = '/';
  to = copy(to, name, count);
  *to = 0;
  *len = above + 1 + count;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if (parent->count != version) return DIR_SERVED;
  long result = gate(SYS_newfstatat, AT_FDCWD, (long)f->room, (long)&st, AT_SYMLINK_NOFOLLOW, 0);
  if (result == -ENOENT) return DIR_MISSING;
  return result == 0 && (st.mode & S_IFMT) == S_IFDIR && st.dev != WORD(HEADER + PROC_DEV) ? (what & DIR_IS_PLAIN) | DIR_HOST : DIR_SERVED;
}

/* Puts down the name of a directory that was looked up, or of a child of it. */
static char *put_dir(char *to, const volatile struct dir *d, u64 len, const struct path *child) {
  u64 count = child ? child->slash - child->above_slash - 1 : 0;
  to = copy(to, (const char *)d->name, child ? len - count - 1 : len);
  if (child) {
    *to++ = '/';
    to = copy(to, child->text + child->above_slash + 1, count);
  }
  return to;
}

/* Finds where a name is, relative to the working directory or to a descriptor; or where it would be in the topmost layer, to write it. */
static enum way locate_for(struct state *s, int from, const char *text, struct found *f, int writes) {
  struct path p = {.text = text};
  u64 h = HASH_START, count = 0;
  long before = 0;
  const char *base = s->cwd;
  f->is_named = 0;
  if (!can_read(s, (u64)text)) return SERVED;
  if (!writes && is_in_plain_dir(s, from, text, f)) return NATIVE;
  int is_relative = text[0] != '/', is_in_cwd = is_relative && from == AT_FDCWD;
  if (is_relative && (before = is_in_cwd ? cwd(s, &h, &count) : named(from, f->named, &base, &h)) < 0) return SERVED;
  if (!scan(s, &p, h)) return SERVED;
  const char *last = text + p.slash + 1;
  long len = p.len - p.slash - 1;
  /* The directory itself. */
  int is_dir = (len == 0 && p.slash >= 0) || (len == 1 && last[0] == '.');
  if (!is_dir && !is_name(last, len)) return SERVED;

  u64 version = 0;
  const volatile struct dir *d = looked_up(p.dir, &version);
  u64 what = DIR_SERVED, above = p.dir, dir_len;
  char *to = f->room;
  const struct path *child = 0;
  u32 alone = d ? 0 : find(NAMES, NAMES_COUNT, above);
  if (!d && alone != NAME_OVER && alone != NAME_CLOSED) {
    /* Never in the index: what depends on who looks. */
    if (begins(text, p.len, "/proc", 5)) return SERVED;
    if ((d = looked_up(p.above, &version)) && (what = look_at_child(&p, f, d, version, &above, &dir_len)) != DIR_SERVED) {
      child = &p;
    } else {
      above = p.dir;
      if (ask(text, ASK_DIR, from, 0, 0) != 0 || !(d = looked_up(p.dir, &version))) return SERVED;
    }
  }
  if (child) {
  } else if (d) {
    what = d->what;
    above = d->hash;
    dir_len = what >> DIR_LEN_SHIFT;
  } else {
    /* By its name alone. */
    what = DIR_IS_PLAIN | DIR_IS_OVER | (alone == NAME_OVER ? DIR_HOST : DIR_LAYER);
    dir_len = (p.slash >= 0 ? p.slash : 0) + (is_relative ? before + (p.slash >= 0) : 0);
  }
  if (dir_len > DIR_NAME_MAX) return SERVED;
  u32 kind = what & 3;
  if (kind == DIR_SERVED) return SERVED;
  f->dir = AT_FDCWD;
  f->is_dir = is_dir;

  if (kind == DIR_MISSING) {
    /* It is still not there, and so the path is not. */
    struct stat st;
    if (find(NAMES, NAMES_COUNT, above)) return SERVED;
    *put_dir(to, d, dir_len, child) = 0;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (d->count != version) return SERVED;
    if (!child && gate(SYS_newfstatat, AT_FDCWD, (long)f->room, (long)&st, AT_SYMLINK_NOFOLLOW, 0) != -ENOENT) return SERVED;
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
  int is_both = node == NAME_BOTH && (what & (3 | DIR_IS_OVER)) == DIR_HOST && !writes;
  if (node == NAME_BOTH) node = NAME_SERVED;
  if (is_dir) {
    f->is_upper = node == NAME_OVER || node == NAME_CLOSED || is_both;
    if (!f->is_upper && (node || kind != DIR_HOST || what & DIR_IS_OVER)) return SERVED;
  } else {
    if (node == NAME_SERVED && !writes && !is_both) return SERVED;
    f->is_upper = node != 0;
    f->is_dir = node == NAME_OVER || node == NAME_CLOSED;
  }
  int is_absent = kind == DIR_LAYER && node == 0;
  if (kind == DIR_HOST && node == 0 && what & DIR_IS_PLAIN && !is_relative && !is_over && !is_dir && !writes) {
    f->real = f->name = text;
    f->len = p.len;
  } else {
    f->real = to;
    if (f->is_upper || is_over || writes) {
      u64 prefix = WORD(HEADER + PREFIX_LEN);
      to = copy(to, AT(char, HEADER + PREFIX), prefix);
    }
    f->name = to;
    if (d) {
      to = put_dir(to, d, dir_len, child);
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
    if (is_over && !writes) {
      /* Whether it may be searched, only the layer's directory says. */
      struct stat st;
      if (gate(SYS_newfstatat, AT_FDCWD, (long)f->real, (long)&st, AT_SYMLINK_NOFOLLOW, 0) != -ENOENT) return SERVED;
      f->real = f->name;
    }
  }
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if ((d && d->count != version) || (is_in_cwd && !is_same_cwd(s, count))) return SERVED;
  f->is_named = !is_dir;
  return is_both ? BOTH : node == NAME_SERVED ? SERVED : is_absent ? ABSENT : NATIVE;
}

static enum way locate(struct state *s, int from, const char *text, struct found *f) {
  enum way way = locate_for(s, from, text, f, 0);
  return way == BOTH ? SERVED : way;
}

/* The length of a mark that is a link: a name has become one since it was found. Links of this length are the server's, since to read one changes
 * its time of access. */
enum { MARK_LEN = 18 };

/* Whether a link of this length, which was found, is there for the program. */
static int is_seen_link(const struct found *f, u64 len) { return !f->is_upper || len != MARK_LEN; }

/* The path that a link leads to, which was found: put into `to`, of LONGEST bytes. None: the server knows. */
static const char *target(struct found *f, char *to) {
  long dir = 0, len = 0;
  if (f->dir != AT_FDCWD || f->is_dir) return 0;
  long count = gate(SYS_readlinkat, AT_FDCWD, (long)f->real, (long)f->named, NAMED_MAX, 0);
  if (count < 1 || count >= LONGEST || !is_seen_link(f, count)) return 0;
  if (f->named[0] != '/') {
    /* Relative to the link's directory. */
    while (len < LONGEST && f->name[len]) {
      if (f->name[len] == '/') dir = len + 1;
      len++;
    }
    if (dir == 0 || dir + count >= LONGEST) return 0;
    copy(to, f->name, dir);
  }
  *(char *)copy(to + dir, f->named, count) = 0;
  return to;
}
