"""What another process does is seen in one step: prints what was seen otherwise. In the directory that it is started in are 100 files g0 to
g99, FIFOs p0 to p9, and a directory "in" with a file "here"."""
import mmap
import os

here = os.getcwd()
turn = mmap.mmap(-1, 4096)


def beside(count, act, look):
    """A child acts each time that this process has begun to look."""
    turn[0] = turn[1] = 0
    pid = os.fork()
    if pid == 0:
        for n in range(count):
            while turn[0] != n + 1:
                pass
            act(n)
            turn[1] = n + 1
        os._exit(0)
    for n in range(count):
        look(n)
    os.waitpid(pid, 0)


def file(n):
    return f"{here}/g{n}"


wrong = {"missed": 0, "mark": 0}


def look_for_both(n):
    old, new = f"{here}/name{n}", f"{here}/name{n + 1}"
    os.path.lexists(new)
    turn[0] = n + 1
    while os.path.lexists(old):
        pass
    wrong["missed"] += not os.path.lexists(new)


open(f"{here}/name0", "w").close()
beside(200, lambda n: os.rename(f"{here}/name{n}", f"{here}/name{n + 1}"), look_for_both)


def look_at_removed(n):
    os.lstat(file(n))
    turn[0] = n + 1
    while os.path.lexists(file(n)):
        wrong["mark"] += os.path.islink(file(n))


for n in range(100):
    os.unlink(file(n))
    open(file(n), "w").close()
beside(100, lambda n: os.unlink(file(n)), look_at_removed)
print(wrong, flush=True)

# A listing of a directory that this process made shows what was there all the time, and nothing of the layer's own.
os.makedirs("made/dir")
steady = {f"steady{n}" for n in range(20)}
for name in steady:
    open(f"made/{name}", "w").close()


def change(n):
    """Files come and go; one of the host's comes; the whole is renamed, which marks it, or a directory in it gives way to a link."""
    open(f"made/{n}", "w").close()
    os.rename(file(n) if os.path.lexists(file(n)) else "in/here", f"made/{n}")
    os.unlink(f"made/{n}")
    os.rename("made", "other"), os.rename("other", "made")
    os.rmdir("made/dir"), os.symlink("/", "made/dir"), os.unlink("made/dir"), os.mkdir("made/dir")


def look_at_made(n):
    turn[0] = n + 1
    while turn[1] != n + 1:
        try:
            names = os.listdir("made")
        except FileNotFoundError:
            continue
        others = set(names) - steady - {"dir", str(n)}
        if others or not steady <= set(names) or len(names) != len(set(names)):
            print("listed", sorted(names))


open("in/here", "w").close()
for n in range(50):
    open(file(n), "w").close()
beside(50, change, look_at_made)

# What is opened by a descriptor's name is opened once.
at = os.open(here, os.O_RDONLY)
for n in range(10):
    pid = os.fork()
    if pid == 0:
        os._exit(os.write(os.open(f"{here}/p{n}", os.O_WRONLY), b"text") != 4)
    got = os.read(os.open(f"p{n}", os.O_RDONLY, dir_fd=at), 10)
    if got != b"text" or os.waitpid(pid, 0)[1] != 0:
        print("FIFO", n, got)

# A child that has made no call has the directory of its parent, which became another program and ended.
done, last = os.pipe()
if os.fork() == 0:
    os.chdir("in")
    gone, parent = os.pipe()
    os.set_inheritable(parent, True)
    if os.fork() == 0:
        os.close(parent)
        os.read(gone, 1)
        print("in its directory" if os.path.exists("here") else "elsewhere", flush=True)
        os._exit(0)
    os.execv("/bin/true", ["true"])
os.close(last)
os.read(done, 1)
