/* The server's index, which may be changed while it is read, and the log of what was looked at. */

/* A directory that the server has looked up. */
struct dir {
  u64 count, key, hash, what;
  char name[DIR_NAME_MAX];
};

static u64 hash(u64 h, const char *text, u64 len) {
  for (u64 i = 0; i < len; i++) h = (h ^ (unsigned char)text[i]) * HASH_FACTOR;
  return h;
}

/* The nth place of a table for a hash, which may be in the first of its three, the second or the last. */
static u64 place(u64 h, u64 count, u64 n) {
  u64 start = 0, size = count >> FIRST_SHIFT;
  if (n >= FIRST_PROBES) {
    n -= FIRST_PROBES;
    start = size;
    size = count >> SECOND_SHIFT;
    if (n >= FIRST_PROBES) {
      n -= FIRST_PROBES;
      start += size;
      size = count;
    }
  }
  return start + (((h * SPREAD >> (64 - __builtin_ctzl(size))) + n) & (size - 1));
}

/* How many there are, with so many in the last of the three. */
enum { SOME = 2 * FIRST_PROBES };

/* What a table of the index has for a hash in its lowest bits; 0: it is not there. */
static u32 find(u64 table, u64 count, u64 h) {
  for (u64 n = 0; n < SOME + PROBES; n++) {
    u64 word = WORD(table + 8 * place(h, count, n));
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

static int is_dir(u32 mode) { return (mode & S_IFMT) == S_IFDIR; }

static int is_link(u32 mode) { return (mode & S_IFMT) == S_IFLNK; }

static int is_served_kind(u32 kind, u32 mode) { return kind == FILE_SERVED || (kind == FILE_COPY && is_dir(mode)) || mode == STANDS_FOR; }

static int is_served_file(u64 dev, u64 ino, u32 mode) { return is_served_kind(file_kind(dev, ino), mode); }

/* The number that programs see of a file, for its own. */
static u64 shown(u64 dev, u64 ino) {
  u64 h = file_hash(dev, ino);
  for (u64 n = 0; n < SOME + PROBES; n++) {
    u64 offset = 8 * place(h, FILES_COUNT, n), word = WORD(FILES + offset);
    if (word == 0) break;
    if ((word ^ h) >> KIND_BITS == 0) return word & ((1 << KIND_BITS) - 1) && WORD(SHOWN + offset) ? WORD(SHOWN + offset) : ino;
  }
  return ino;
}

/* Puts the number there that programs see of a file whose other attributes are as the kernel says; 0: they are not. */
static int show(u64 dev, u64 *ino, u32 mode) {
  u32 kind = file_kind(dev, *ino);
  if (kind == FILE_COPY) *ino = shown(dev, *ino);
  return !is_served_kind(kind, mode);
}

/* Notes what was looked at, once: whether there was room. Without a text only that it is known: whether it was before. */
static int record(u64 key, u32 kind, const char *text, u64 len) {
  key = (key ^ kind * SPREAD) | 1;
  u64 *at = 0;
  for (u64 n = 0; n < SOME + SEEN_PROBES; n++) {
    u64 *slot = AT(u64, SEEN + 8 * place(key, SEEN_COUNT, n));
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
