"""A display that echoes, and clients of displays that connect in unusual ways.

serve :N        listens as display N with the shortest queue, says N, and accepts once it is told to; to b"flood" it answers without end
retry :N        finds that queue full, is told to try once more, and is answered
write :N        goes on writing with more unread than it takes
end :N          has the display end
named :N        a client without hooks whose socket has the name of one that goes over ports
"""
import errno
import fcntl
import os
import select
import socket
import struct
import sys
import termios

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
    clients, flooded = [], []
    while True:
        readable, writable, _ = select.select([listener, *clients], flooded, [])
        for ready in writable:
            try:
                ready.send(bytes(100_000))
            except (BrokenPipeError, ConnectionResetError):
                flooded = []
            except BlockingIOError:
                pass
        for ready in readable:
            if ready is listener:
                clients.append(listener.accept()[0])
                continue
            try:
                data = ready.recv(1 << 16 if ready in flooded else 100)
            except BlockingIOError:
                continue
            except ConnectionResetError:
                # It ended with something unread.
                data = b""
            if data == b"flood":
                ready.setblocking(False)
                flooded.append(ready)
                continue
            if data == b"end":
                os.unlink(path)
                sys.exit()
            if not data:
                clients.remove(ready)
                flooded = [other for other in flooded if other is not ready]
            elif ready not in flooded:
                ready.sendall(data)


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


def write():
    x = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    x.connect(path)
    x.sendall(b"flood")
    assert select.select([x], [], [], 60)[0]
    x.setblocking(False)
    waits = 0
    while waits < 20:
        try:
            x.send(bytes(100_000))
        except BlockingIOError:
            unread = struct.unpack("i", fcntl.ioctl(x, termios.FIONREAD, bytes(4)))[0]
            waits += unread >= 1 << 20
            assert select.select([], [x], [], 60)[1], "there is no room within a minute"
    say("written")
    sys.stdin.readline()


def end():
    x = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    x.connect(path)
    x.sendall(b"end")
    assert x.recv(1) == b"", "it has ended"


def named():
    x = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    x.bind(b"\0slipway-line-p" + os.urandom(16).hex().encode())
    x.connect(path)
    x.sendall(struct.pack("<BxHHHHxx", ord("l"), 11, 0, 0, 0))
    assert x.recv(1) == b"\1", "refused"
    say("answered")


{"serve": serve, "retry": retry, "write": write, "end": end, "named": named}[role]()
