"""Threads that each have a connection to the display, and wait for answers in ways of their own, while the process forks."""
import os
import select
import socket
import struct
import sys
import threading

ROUNDS = 500
FORKS = 100
number = os.environ["DISPLAY"].lstrip(":").split(".")[0]


def connect():
    x = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    x.connect("/tmp/.X11-unix/X" + number)
    x.sendall(struct.pack("<BxHHHHxx", ord("l"), 11, 0, 0, 0))
    ok, length = struct.unpack("<BxxxxxH", take(x, 8))
    assert ok == 1, "refused"
    take(x, 4 * length)
    return x


def take(x, count):
    data = b""
    while len(data) < count:
        part = x.recv(count - len(data))
        assert part, "the connection ended"
        data += part
    return data


def blocking(x):
    return lambda: True


def in_poll(x):
    poller = select.poll()
    poller.register(x, select.POLLIN)
    return lambda: poller.poll(60000)


def in_select(x):
    reading, writing = os.pipe()
    return lambda: select.select([x, reading], [], [], 60)[0]


def in_epoll(x):
    poller = select.epoll()
    poller.register(x, select.EPOLLIN)
    return lambda: poller.poll(60)


answers = []


def work(how, x):
    ready = how(x)
    for _ in range(ROUNDS):
        x.sendall(struct.pack("<BxH", 43, 1))
        assert ready(), "nothing within a minute"
        assert take(x, 32)[0] == 1
    answers.append(how.__name__)


connections = [connect() for _ in range(8)]
threads = [threading.Thread(target=work, args=(how, x)) for how, x in zip([blocking, in_poll, in_select, in_epoll] * 2, connections)]
for thread in threads:
    thread.start()
for _ in range(FORKS):
    child = os.fork()
    if child == 0:
        # The rights are the parent's: to this process the connections have ended.
        os._exit(0 if select.select(connections, [], [], 60)[0] == connections else 1)
    assert os.waitpid(child, 0)[1] == 0
for thread in threads:
    thread.join()
print(f"{len(answers)} threads were answered")
