"""Random calls on names in a tree: prints what each of them gave. The same seed on equal trees prints the same."""
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
DIRS = ["a", "a/b", "a/b/c", "d", "new", "new/deep", "link", "away"]
NAMES = ["x", "y", "z", "f", "g", "s"]
open_dirs = []


def path():
    """One of few names, written in many ways."""
    way, at, name = rng.randrange(9), rng.choice(DIRS), rng.choice(NAMES + ["b", "c"])
    return [name, at, os.path.join(root, at, name), f"{at}/../{rng.choice(DIRS)}/{name}", f"./{at}//{name}", f"{at}/{name}/",
            f"/proc/self/cwd/{name}"][way] if way < 7 else f"{at}/{name}"


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


def create(at):
    with open(at, rng.choice(["w", "a", "r+"])) as file:
        file.write(rng.choice(["one", "two two", "three"]))


def leave():
    """What is open on a directory that is moved or removed is not the same in a layer (docs/unix.md, Limits)."""
    os.chdir(root)
    while open_dirs:
        os.close(open_dirs.pop())


def rename(at):
    to = path()
    os.rename(at, to)
    leave()


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
    fd, way = rng.choice(open_dirs), rng.randrange(5)
    name = rng.choice(NAMES + ["b", "c", ".", "b/z", "./x", "deep/x", "../d/g", "s/x"])
    if way == 0:
        return shown(os.stat(name, dir_fd=fd, follow_symlinks=rng.random() < 0.5))
    if way == 1:
        return contents(name, dir_fd=fd)
    if way == 2:
        return os.access(name, rng.choice([os.F_OK, os.R_OK, os.W_OK, os.X_OK]), dir_fd=fd)
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
    os.symlink(rng.choice(["x", "../x", "a", "b/c", root + "/d", "nowhere", "link"]), at)


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
    lambda at: os.utime(at, (1, 2)), in_thread,
]
for n in range(count):
    call = in_program if rng.random() < 0.01 else rng.choice(CALLS)
    at = path()
    try:
        result = call(at)
    except OSError as error:
        result = f"error {error.errno}"
    print(n, CALLS.index(call) if call in CALLS else "program", at.replace(above, ""), result)
