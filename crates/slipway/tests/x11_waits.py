"""An X client that asks 2000 times for the input focus, and waits for each answer beside a pipe that another thread writes to."""
import os
import select
import socket
import struct
import sys
import threading

ROUNDS = 2000
how = sys.argv[1]
number = os.environ["DISPLAY"].lstrip(":").split(".")[0]
x = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
x.connect("/tmp/.X11-unix/X" + number)


def take(count):
    data = b""
    while len(data) < count:
        part = x.recv(count - len(data))
        if not part:
            sys.exit("the connection ended")
        data += part
    return data


x.sendall(struct.pack("<BxHHHHxx", ord("l"), 11, 0, 0, 0))
ok, length = struct.unpack("<BxxxxxH", take(8))
assert ok == 1, "refused"
take(4 * length)

reading, writing = os.pipe()
go = threading.Semaphore(0)


def other():
    for _ in range(ROUNDS):
        go.acquire()
        os.write(writing, b"x")


thread = threading.Thread(target=other)
thread.start()
if how == "poll":
    poller = select.poll()
    poller.register(x, select.POLLIN)
    poller.register(reading, select.POLLIN)
elif how == "epoll":
    poller = select.epoll()
    poller.register(x, select.EPOLLIN)
    poller.register(reading, select.EPOLLIN)
elif how in ("within", "nested"):
    inner = select.epoll()
    inner.register(x, select.EPOLLIN)
    poller = select.poll() if how == "within" else select.epoll()
    poller.register(inner, select.POLLIN)
    poller.register(reading, select.POLLIN)


def ready():
    """The descriptors that are, within a minute."""
    if how == "select":
        found = select.select([x, reading], [], [], 60)[0]
        return [f if isinstance(f, int) else f.fileno() for f in found]
    if how == "blocking":
        return [x.fileno(), reading]
    found = [fd for fd, _ in poller.poll(60000 if how in ("poll", "within") else 60)]
    if how in ("within", "nested") and inner.fileno() in found:
        # There may be nothing in it after all.
        found += [fd for fd, _ in inner.poll(0)]
    return found


answers = wakes = 0
for _ in range(ROUNDS):
    x.sendall(struct.pack("<BxH", 43, 1))
    go.release()
    todo = {x.fileno(), reading}
    while todo:
        found = set(ready())
        assert found, "nothing within a minute"
        found &= todo
        if x.fileno() in found:
            assert take(32)[0] == 1
            answers += 1
        if reading in found:
            os.read(reading, 1)
            wakes += 1
        todo -= found
thread.join()
print(f"{answers} answers, {wakes} wake-ups of the pipe")
