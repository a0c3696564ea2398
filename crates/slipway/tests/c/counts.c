// Whether each directory below the first argument says that it has as many names as fts(3) needs to find all that is in it.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int seen;

static void check(const char *path, const char *how, unsigned long count, unsigned long dirs) {
  if (count != 1 && count < dirs + 2) printf("%s: %s says %lu, it has %lu directories\n", path, how, count, dirs);
}

static void look(const char *path) {
  char below[4096];
  unsigned long dirs = 0;
  struct stat st;
  struct statx stx;
  DIR *dir = opendir(path);
  if (!dir) return perror(path);
  seen++;
  for (struct dirent *entry; (entry = readdir(dir));) {
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
    if (lstat(below, &st) != 0) perror(below);
    if (S_ISDIR(st.st_mode)) dirs++, look(below);
    else seen++;
  }
  int fd = dirfd(dir);
  check(path, "stat", stat(path, &st) ? 0 : st.st_nlink, dirs);
  check(path, "fstat", fstat(fd, &st) ? 0 : st.st_nlink, dirs);
  check(path, "fstatat", fstatat(fd, "", &st, AT_EMPTY_PATH) ? 0 : st.st_nlink, dirs);
  check(path, "fstatat of a dot", fstatat(fd, ".", &st, 0) ? 0 : st.st_nlink, dirs);
  check(path, "statx", statx(AT_FDCWD, path, 0, STATX_NLINK, &stx) ? 0 : stx.stx_nlink, dirs);
  check(path, "statx of a descriptor", statx(fd, "", AT_EMPTY_PATH, STATX_NLINK, &stx) ? 0 : stx.stx_nlink, dirs);
  closedir(dir);
}

int main(int argc, char **argv) {
  char *paths[] = {argv[argc - 1], NULL};
  int walked = 0;
  look(paths[0]);
  FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOSTAT, NULL);
  for (FTSENT *entry; walk && (entry = fts_read(walk));) walked += entry->fts_info != FTS_DP;
  if (walked != seen) printf("fts finds %d of %d\n", walked, seen);
  return 0;
}
