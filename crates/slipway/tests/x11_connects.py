"""A display that echoes, and clients of displays that connect in unusual ways.

serve :N        listens as display N with the shortest queue, says N, and accepts once it is told to
retry :N        finds that queue full, is told to try once more, and is answered
named :N        a client without hooks whose socket has the name of one that goes over ports
"""
import errno
import os
import select
import socket
import struct
import sys

role, display = sys.argv[1], sys.argv[2].lstrip(":")
path = "/tmp/.X11-unix/X" + display


def say(text):
    print(text, flush=True)


def serve():
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(path)
    except OSError:
        sys.exit("the display is taken")
    listener.listen(0)
    say(display)
    assert sys.stdin.readline() == "accept\n"
    clients = []
    while True:
        for ready in select.select([listener, *clients], [], [])[0]:
            if ready is listener:
                clients.append(listener.accept()[0])
                continue
            data = ready.recv(100)
            if data == b"end":
                os.unlink(path)
                sys.exit()
            if data:
                ready.sendall(data)
            else:
                clients.remove(ready)


def retry():
    x = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    x.setblocking(False)
    for _ in range(3):
        assert x.connect_ex(path) == errno.EAGAIN, "the queue has room"
    say("full")
    sys.stdin.readline()
    while (error := x.connect_ex(path)) == errno.EAGAIN:
        pass
    assert error == 0, error
    x.setblocking(True)
    for i in range(100):
        x.sendall(b"%d" % i)
        assert x.recv(100) == b"%d" % i
    say("answered")
    sys.stdin.readline()
    x.sendall(b"end")


def named():
    x = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    x.bind(b"\0slipway-line-p" + b"5a" * 16)
    x.connect(path)
    x.sendall(struct.pack("<BxHHHHxx", ord("l"), 11, 0, 0, 0))
    assert x.recv(1) == b"\1", "refused"
    say("answered")


{"serve": serve, "retry": retry, "named": named}[role]()
