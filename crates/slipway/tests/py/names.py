"""Random calls on names in a tree: prints what each of them gave. The same seed on equal trees prints the same."""
import ctypes
import os
import random
import stat
import subprocess
import sys
import threading

root, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
above = os.path.dirname(root)
rng = random.Random(seed)
os.chdir(root)
DIRS = ["a", "a/b", "a/b/c", "d", "new", "new/deep", "new/deep/er", "new/x", "link", "away"]
NAMES = ["x", "y", "z", "f", "g", "s"]
open_dirs = []
libc = ctypes.CDLL(None, use_errno=True)
libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
libc.telldir.restype = ctypes.c_long


class Entry(ctypes.Structure):
    _fields_ = [("ino", ctypes.c_uint64), ("off", ctypes.c_int64), ("size", ctypes.c_ushort), ("kind", ctypes.c_ubyte), ("name", ctypes.c_char * 256)]


def path():
    """One of few names, written in many ways."""
    way, at, name = rng.randrange(11), rng.choice(DIRS), rng.choice(NAMES + ["b", "c"])
    return [name, at, os.path.join(root, at, name), f"{at}/../{rng.choice(DIRS)}/{name}", f"./{at}//{name}", f"{at}/{name}/",
            f"/proc/self/cwd/{name}", f"{at}/", f"{at}/."][way] if way < 9 else f"{at}/{name}"


def shown(st):
    is_dir = stat.S_ISDIR(st.st_mode)
    size = st.st_size if stat.S_ISREG(st.st_mode) else 0
    return f"{st.st_mode:o} {size} {0 if is_dir else st.st_nlink}"


def contents(at, flags=0, dir_fd=None):
    fd = os.open(at, os.O_RDONLY | flags, dir_fd=dir_fd)
    try:
        st = os.fstat(fd)
        if stat.S_ISDIR(st.st_mode):
            return shown(st) + " " + ",".join(sorted(os.listdir(fd)))
        return shown(st) + " " + repr(os.read(fd, 100))
    finally:
        os.close(fd)


def numbers(at):
    """Whether what a listing says of each name is what a look at it says, `.` and `..` too, and from the middle on the same again."""
    stream = ctypes.c_void_p(libc.opendir(os.fsencode(at)))
    if not stream:
        raise OSError(ctypes.get_errno(), at)

    def rest():
        entries = []
        while entry := libc.readdir(stream):
            entry = Entry.from_address(entry)
            entries.append((entry.name, entry.ino, entry.kind))
        return entries

    first, differing = [], []
    for _ in range(rng.randrange(5)):
        if entry := libc.readdir(stream):
            entry = Entry.from_address(entry)
            first.append((entry.name, entry.ino, entry.kind))
    place = libc.telldir(stream)
    after = rest()
    libc.seekdir(stream, ctypes.c_long(place))
    again = rest()
    libc.rewinddir(stream)
    entries = rest()
    whole = sorted(first + after) == sorted(entries) and again == after
    held = os.fstat(libc.dirfd(stream))
    for name, ino, kind in entries:
        st = os.lstat(os.path.join(os.fsencode(at), name))
        if (st.st_ino, stat.S_IFMT(st.st_mode)) != (ino, kind << 12):
            differing.append(name)
    same = os.stat(at)
    libc.closedir(stream)
    return sorted(name for name, _, _ in entries), differing, whole, held == same and shown(held)


def create(at):
    with open(at, rng.choice(["w", "a", "r+"])) as file:
        file.write(rng.choice(["one", "two two", "three"]))


def open_to_write(at, dir_fd=None):
    flags = rng.choice([os.O_WRONLY, os.O_WRONLY | os.O_TRUNC, os.O_RDWR, os.O_RDWR | os.O_TRUNC, os.O_WRONLY | os.O_APPEND, os.O_RDONLY])
    flags |= rng.choice([0, os.O_CREAT, os.O_CREAT, os.O_CREAT | os.O_EXCL, os.O_CREAT | os.O_EXCL]) | rng.choice([0, 0, os.O_NOFOLLOW])
    fd = os.open(at, flags, rng.choice([0o666, 0o600, 0o444]), dir_fd=dir_fd)
    try:
        if flags & (os.O_WRONLY | os.O_RDWR):
            os.write(fd, rng.choice([b"four", b"and five"]))
        return shown(os.fstat(fd))
    finally:
        os.close(fd)


def new_again(at):
    """A file in the place of one that was removed, as git and others write them."""
    os.unlink(at)
    open_to_write(at)
    return contents(at)


def mask(_):
    return os.umask(rng.choice([0o022, 0, 0o077, 0o027]))


def in_child_before_mask(at):
    """A child has the mask that its parent had when it was made."""
    ends = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 100
        try:
            os.read(ends[0], 1)
            fd = os.open(at, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
            code = os.fstat(fd).st_mode >> 1 & 0o77
        except OSError as error:
            code = 100 + error.errno
        finally:
            os._exit(code)
    mask(at)
    os.write(ends[1], b"x")
    for end in ends:
        os.close(end)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def execute(at):
    """Nothing there is a program."""
    pid = os.fork()
    if pid == 0:
        try:
            os.execv(at, [at])
        except OSError as error:
            os._exit(error.errno)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def leave():
    """What is open on a directory that is moved or removed is not the same in a layer (docs/unix.md, Limits)."""
    os.chdir(root)
    while open_dirs:
        os.close(open_dirs.pop())


def rename(at):
    to = path()
    os.rename(at, to)
    leave()


def move_in(at):
    """What the command did not make, into what it may have made."""
    os.rename(rng.choice(["x", "a/x", "a/y", "a/b/z", "d/g", "a/b/c", "d"]), os.path.join(at, "f"))
    leave()


def make_again(at):
    os.mkdir(at)
    os.rmdir(at)
    leave()
    os.mkdir(at)


def attribute(at):
    return os.getxattr(at, "user.none", follow_symlinks=rng.random() < 0.5)


def rmdir(at):
    os.rmdir(at)
    leave()


def keep_dir(at):
    open_dirs.append(os.open(at, os.O_RDONLY | os.O_DIRECTORY))
    if len(open_dirs) > 4:
        os.close(open_dirs.pop(0))


def relative(_):
    if not open_dirs:
        return None
    fd, way = rng.choice(open_dirs), rng.randrange(6)
    name = rng.choice(NAMES + ["b", "c", ".", "b/z", "./x", "deep/x", "../d/g", "s/x"])
    if way == 0:
        return shown(os.stat(name, dir_fd=fd, follow_symlinks=rng.random() < 0.5))
    if way == 1:
        return contents(name, dir_fd=fd)
    if way == 2:
        return os.access(name, rng.choice([os.F_OK, os.R_OK, os.W_OK, os.X_OK]), dir_fd=fd)
    if way == 5:
        return open_to_write(name, fd)
    if way == 3:
        return os.readlink(name, dir_fd=fd).replace(above, "")
    return shown(os.fstat(fd)) + ",".join(sorted(os.listdir(fd)))


def in_child(at):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.chdir(at)
            code = 2 + len(os.listdir(".")) + sum(os.path.lexists(name) for name in NAMES)
        except OSError as error:
            code = 100 + error.errno
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def in_program(at):
    script = "ls x y z f g s 2>/dev/null; test -r x && cat x 2>/dev/null; pwd -P"
    return subprocess.run(["/bin/sh", "-c", script], cwd=at, stdout=subprocess.PIPE).stdout.replace(above.encode(), b"")


def in_thread(at):
    got = []
    thread = threading.Thread(target=lambda: got.append(os.path.lexists(at)))
    thread.start()
    thread.join()
    return got


def go(at):
    os.chdir(at)
    return os.getcwd().replace(above, "")


def link_to(at):
    os.symlink(rng.choice(["x", "../x", "a", "b/c", root + "/d", "nowhere", "link", "new", "../new/deep"]), at)


def link(at):
    os.link(at, path(), follow_symlinks=False)


CALLS = [
    lambda at: shown(os.stat(at)), lambda at: shown(os.stat(at)), lambda at: shown(os.lstat(at)),
    lambda at: os.access(at, os.F_OK), lambda at: os.access(at, os.R_OK), lambda at: os.access(at, os.W_OK),
    lambda at: os.access(at, os.X_OK), lambda at: os.readlink(at).replace(above, ""), contents, contents, lambda at: contents(at, os.O_NOFOLLOW),
    lambda at: contents(at, os.O_DIRECTORY), lambda at: sorted(entry.name for entry in os.scandir(at)), keep_dir, relative,
    relative, relative, create, create, create, os.unlink, os.mkdir, rmdir, rename, link_to, link,
    lambda at: os.chmod(at, rng.choice([0o644, 0o755, 0o700])), lambda at: os.truncate(at, 2), in_child, go,
    lambda _: os.chdir(root), lambda _: os.chdir(root), lambda at: os.path.realpath(at).replace(above, ""),
    lambda at: os.utime(at, (1, 2)), in_thread, numbers, numbers, os.mkdir, move_in, make_again, attribute,
    open_to_write, open_to_write, open_to_write, new_again, new_again, mask, in_child_before_mask, execute,
    lambda _: os.getcwd().replace(above, ""), lambda _: os.getcwd().replace(above, ""),
]
for n in range(count):
    call = in_program if rng.random() < 0.01 else rng.choice(CALLS)
    at = path()
    try:
        result = call(at)
    except OSError as error:
        result = f"error {error.errno}"
    print(n, CALLS.index(call) if call in CALLS else "program", at.replace(above, ""), result)
