/* Tries to change the tree in the directory that it is given, in every way that the kernel has, by raw system calls.
 * Prints a line for each try: its name and what the call returned. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* The control, which no net holds, does nothing that would outlive its tree. */
#ifdef CONTROL
#undef SYS_mount
#undef SYS_chroot
#undef SYS_unshare
#define SYS_mount 600
#define SYS_chroot 600
#define SYS_unshare 600
#else
#define CONTROL 0
#endif

static char paths[64][600];
static int used;
static const char *root;

/* A name in the tree. */
static const char *in(const char *name) {
    char *path = paths[used++ % 64];
    snprintf(path, 600, "%s/%s", root, name);
    return path;
}

static long said(const char *what, long result) {
    printf("%s %ld %s\n", what, result, result < 0 ? strerrorname_np(errno) : "");
    fflush(stdout);
    return result;
}
#define TRY(what, ...) said(what, syscall(__VA_ARGS__))

static void scribble(const char *what, long fd) {
    if (said(what, fd) >= 0) {
        if (write(fd, "scribble", 8) < 0) perror(what);
        close(fd);
    }
}

/* With O_PATH the kernel ignores every flag that asks for access. */
static void only_path(const char *what, int dir, const char *path) {
    static const int asks[] = {O_WRONLY, O_RDWR, 3, O_RDWR | O_TRUNC, O_WRONLY | O_APPEND, O_TRUNC, O_RDWR | O_CREAT | O_TRUNC};
    for (unsigned n = 0; n < sizeof asks / sizeof *asks; n++) {
        long fd = said(what, syscall(SYS_openat, dir, path, O_PATH | asks[n]));
        if (write(fd, "scribble", 8) >= 0 || ftruncate(fd, 1) == 0) printf("%s wrote -1\n", what);
        close(fd);
    }
}

int main(int argc, char **argv) {
    (void)argc;
    root = argv[1];
    int dir = open(root, O_RDONLY | O_DIRECTORY), file = open(in("file"), O_RDONLY);
    char self[64], big[600];
    /* opening to write */
#ifdef SYS_open
    scribble("open", syscall(SYS_open, in("o1"), O_WRONLY | O_TRUNC));
    scribble("creat", syscall(SYS_creat, in("o2"), 0600));
#endif
    scribble("openat", syscall(SYS_openat, dir, "o3", O_RDWR));
    scribble("openat new", syscall(SYS_openat, dir, "new", O_WRONLY | O_CREAT, 0600));
    struct open_how how = {.flags = O_WRONLY | O_APPEND};
    scribble("openat2", syscall(SYS_openat2, dir, "o4", &how, sizeof how));
    how.resolve = RESOLVE_BENEATH;
    scribble("openat2 beneath", syscall(SYS_openat2, dir, "dir/../o5", &how, sizeof how));
    scribble("by link", syscall(SYS_openat, AT_FDCWD, in("link"), O_WRONLY | O_TRUNC));
    scribble("by dotdot", syscall(SYS_openat, AT_FDCWD, in("dir/inner/../../o6"), O_WRONLY | O_TRUNC));
    scribble("by outer link", syscall(SYS_openat, AT_FDCWD, in("dir/up/o7"), O_WRONLY | O_TRUNC));
    snprintf(big, sizeof big, "/proc/self/root%s/o8", root);
    scribble("by /proc/self/root", syscall(SYS_openat, AT_FDCWD, big, O_WRONLY | O_TRUNC));
    snprintf(big, sizeof big, "/proc/%d/fd/%d/o9", getpid(), dir);
    scribble("by /proc/N/fd", syscall(SYS_openat, AT_FDCWD, big, O_WRONLY | O_TRUNC));
    snprintf(self, sizeof self, "/proc/self/fd/%d", file);
    scribble("again by /proc/self/fd", syscall(SYS_openat, AT_FDCWD, self, O_RDWR | O_TRUNC));
    snprintf(self, sizeof self, "/dev/fd/%d", file);
    scribble("again by /dev/fd", syscall(SYS_openat, AT_FDCWD, self, O_RDWR));
    snprintf(self, sizeof self, "/proc/thread-self/fd/%d", file);
    TRY("truncate by fd link", SYS_truncate, self, 1L);
    TRY("truncate", SYS_truncate, in("t1"), 1L);
    long nameless = TRY("O_TMPFILE", SYS_openat, dir, ".", O_TMPFILE | O_RDWR, 0600);
    if (nameless >= 0) {
        snprintf(self, sizeof self, "/proc/self/fd/%ld", nameless);
        TRY("link O_TMPFILE", SYS_linkat, AT_FDCWD, self, dir, "named", AT_SYMLINK_FOLLOW);
        TRY("link O_TMPFILE empty path", SYS_linkat, nameless, "", dir, "named2", AT_EMPTY_PATH);
    }
    /* names */
#ifdef SYS_mkdir
    TRY("mkdir", SYS_mkdir, in("m1"), 0700);
    TRY("rmdir", SYS_rmdir, in("empty1"));
    TRY("unlink", SYS_unlink, in("u1"));
    TRY("rename", SYS_rename, in("r1"), in("r1-new"));
    TRY("link", SYS_link, in("l1"), in("l1-new"));
    TRY("symlink", SYS_symlink, "x", in("s1"));
    TRY("mknod", SYS_mknod, in("n1"), S_IFREG | 0600, 0);
    TRY("chmod", SYS_chmod, in("c1"), 0777);
    TRY("chown", SYS_chown, in("c2"), getuid(), getgid());
    TRY("lchown", SYS_lchown, in("c2"), getuid(), getgid());
    long times[4] = {1, 2, 3, 4};
    TRY("utime", SYS_utime, in("c3"), times);
    TRY("utimes", SYS_utimes, in("c4"), times);
    TRY("futimesat", SYS_futimesat, dir, "c5", times);
    TRY("renameat", SYS_renameat, dir, "r2", dir, "dir/r2-new");
#endif
    TRY("mkdirat", SYS_mkdirat, dir, "m2", 0700);
    TRY("unlinkat", SYS_unlinkat, dir, "u2", 0);
    TRY("unlinkat dir", SYS_unlinkat, dir, "empty2", AT_REMOVEDIR);
    TRY("renameat2 exchange", SYS_renameat2, dir, "r3", dir, "r4", 2);
    TRY("renameat2 directory", SYS_renameat2, dir, "dir", dir, "dir-new", 0);
    TRY("renameat2 back", SYS_renameat2, dir, "dir-new", dir, "dir", 1);
    TRY("linkat", SYS_linkat, dir, "l2", dir, "l2-new", 0);
    TRY("linkat by empty path", SYS_linkat, syscall(SYS_openat, dir, "l3", O_RDONLY), "", dir, "l3-new", AT_EMPTY_PATH);
    scribble("what was linked", syscall(SYS_openat, dir, "l3-new", O_WRONLY));
    TRY("symlinkat", SYS_symlinkat, "x", dir, "s2");
    TRY("mknodat", SYS_mknodat, dir, "fifo", S_IFIFO | 0600, 0);
    TRY("fchmodat", SYS_fchmodat, dir, "c6", 0777);
    TRY("fchmodat2", 452, dir, "c7", 0777, AT_SYMLINK_NOFOLLOW);
    TRY("fchownat", SYS_fchownat, dir, "c8", getuid(), getgid(), AT_SYMLINK_NOFOLLOW);
    TRY("utimensat", SYS_utimensat, dir, "c9", NULL, 0);
    TRY("setxattr", SYS_setxattr, in("x1"), "user.a", "b", 1L, 0);
    TRY("lsetxattr", SYS_lsetxattr, in("x2"), "user.a", "b", 1L, 0);
    TRY("removexattr", SYS_removexattr, in("x3"), "user.old");
    TRY("lremovexattr", SYS_lremovexattr, in("x4"), "user.old");
    TRY("setxattrat", 463, dir, "x5", 0, "user.a", NULL, 0L);
    /* by descriptors that were opened to read */
    TRY("fchmod", SYS_fchmod, file, 0777);
    TRY("fchmod directory", SYS_fchmod, dir, 0711);
    TRY("fchown", SYS_fchown, file, getuid(), getgid());
    TRY("futimens", SYS_utimensat, file, NULL, NULL, 0);
    TRY("fsetxattr", SYS_fsetxattr, file, "user.a", "b", 1L, 0);
    TRY("fremovexattr", SYS_fremovexattr, file, "user.old");
    TRY("fchmodat2 empty path", 452, file, "", 0707, AT_EMPTY_PATH);
    TRY("fchownat empty path", SYS_fchownat, file, "", getuid(), getgid(), AT_EMPTY_PATH);
    /* by descriptors that stand for names */
    int only = syscall(SYS_openat, dir, "p1", O_PATH), only_dir = syscall(SYS_openat, dir, "dir", O_PATH);
    TRY("fchmodat2 O_PATH", 452, only, "", 0707, AT_EMPTY_PATH);
    TRY("fchownat O_PATH", SYS_fchownat, only, "", getuid(), getgid(), AT_EMPTY_PATH);
    TRY("utimensat O_PATH", SYS_utimensat, only, "", NULL, AT_EMPTY_PATH);
    snprintf(self, sizeof self, "/proc/self/fd/%d", only);
    scribble("O_PATH again", syscall(SYS_openat, AT_FDCWD, self, O_RDWR));
    TRY("fchmodat O_PATH", SYS_fchmodat, AT_FDCWD, self, 0705);
    scribble("below O_PATH", syscall(SYS_openat, only_dir, "p2", O_RDWR));
    TRY("mknodat O_PATH", SYS_mknodat, dir, "pipe", S_IFIFO | 0600, 0);
    only = syscall(SYS_openat, dir, "pipe", O_PATH);
    TRY("fchmodat2 O_PATH FIFO", 452, only, "", 0707, AT_EMPTY_PATH);
    snprintf(self, sizeof self, "/proc/self/fd/%d", only);
    TRY("fchmodat O_PATH FIFO", SYS_fchmodat, AT_FDCWD, self, 0705);
    TRY("linkat O_PATH FIFO", SYS_linkat, AT_FDCWD, self, dir, "pipe-new", AT_SYMLINK_FOLLOW);
    only_path("O_PATH with access", dir, "q1");
    only_path("O_PATH with access by path", AT_FDCWD, in("q2"));
    only_path("O_PATH with access by link", dir, "q3-link");
    snprintf(big, sizeof big, "/proc/self/fd/%d/q4", dir);
    only_path("O_PATH with access by /proc/self/fd", AT_FDCWD, big);
    struct stat behind;
    TRY("O_PATH with O_EXCL", SYS_fstat, syscall(SYS_openat, dir, "q3-link", O_PATH | O_CREAT | O_EXCL), &behind);
    if (!S_ISREG(behind.st_mode)) printf("O_PATH with O_EXCL is the link -1\n");
    int flags = CONTROL ? 0 : 0x10; /* immutable: no tree that it is put on could be removed */
    TRY("FS_IOC_SETFLAGS", SYS_ioctl, file, 0x40086602, &flags);
    TRY("file_setattr", 469, dir, "x6", big, 24L, 0);
    /* relative to the working directory */
    TRY("chdir", SYS_chdir, in("dir"));
    scribble("relative", syscall(SYS_openat, AT_FDCWD, "w1", O_WRONLY | O_TRUNC));
    TRY("relative unlink", SYS_unlinkat, AT_FDCWD, "w2", 0);
    TRY("fchdir", SYS_fchdir, dir);
    scribble("relative again", syscall(SYS_openat, AT_FDCWD, "./dir/w3", O_WRONLY | O_TRUNC));
    scribble("by /proc/self/cwd", syscall(SYS_openat, AT_FDCWD, "/proc/self/cwd/w4", O_WRONLY | O_TRUNC));
    only_path("O_PATH with access, relative", AT_FDCWD, "q5");
    only_path("O_PATH with access by /proc/self/cwd", AT_FDCWD, "/proc/self/cwd/q6");
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    TRY("bind", SYS_bind, socket(AF_UNIX, SOCK_STREAM, 0), &address, sizeof address);
    /* other ways in */
    union { char bytes[256]; struct { unsigned size; } head; } handle = {.head = {128}};
    int mount_id;
    if (TRY("name_to_handle_at", SYS_name_to_handle_at, dir, "file", &handle, &mount_id, 0) == 0)
        scribble("open_by_handle_at", syscall(SYS_open_by_handle_at, dir, &handle, O_WRONLY | O_TRUNC));
    TRY("mount", SYS_mount, "none", in("empty3"), "tmpfs", 0, NULL);
    TRY("open_tree", SYS_open_tree, dir, "", 1 | AT_EMPTY_PATH);
    TRY("fsopen", SYS_fsopen, "tmpfs", 0);
    TRY("chroot", SYS_chroot, root);
    TRY("unshare", SYS_unshare, 0x10000000 | 0x00020000);
    TRY("io_uring_setup", SYS_io_uring_setup, 1, big);
    TRY("fanotify_init", SYS_fanotify_init, 0, 0);
    TRY("unknown call", 600, in("file"));
    int memory = memfd_create("program", 0);
    scribble("by memfd's link", memory);
#ifdef __x86_64__
    TRY("x32 unlink", 0x40000000 + 87, in("u3"));
    /* 32-bit calls take addresses below 4 GiB. */
    char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (low != MAP_FAILED) {
        long result;
        strcpy(low, in("u3"));
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(10L), "b"(low) : "memory", "r8", "r9", "r10", "r11");
        printf("32-bit unlink %ld\n", result);
    }
#endif
    /* in another process, and after exec */
    fflush(stdout);
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "echo x >>o10; rm -f u4; mkdir -p a/b/c; mv u5 a/b; : >\"$0/u6\"", root, (char *)NULL);
        _exit(9);
    }
    int status;
    waitpid(child, &status, 0);
    said("shell", status);
    return 0;
}
