"""A server that sends back what comes, and its clients. The first argument is which: "serve", "ask" or "pass"; the second is the socket's path. One
that is to "serve-again" does so in a child, which calls listen() once more, as asyncio does; one that is to "serve-dropped" is another user's then. A client says "done" when a thousand answers were right,
and keeps the connection until its input ends; one that passes has the server write into a pipe before."""
import os
import signal
import socket
import sys
import threading

role, name = sys.argv[1:]
end = socket.socket(socket.AF_UNIX)


def serve(client):
    while (got := socket.recv_fds(client, 100, 1))[0]:
        for pipe in got[1]:
            os.write(pipe, b'through')
            os.close(pipe)
        client.sendall(got[0])


def ask():
    for n in range(1000):
        end.sendall(b'%d' % n)
        if end.recv(100) != b'%d' % n:
            sys.exit('another answer')


if role.startswith('serve'):
    end.bind(name)
    os.chmod(name, 0o777)
    end.listen()
    if role == 'serve-again' and (child := os.fork()):
        try:
            os.wait()
        finally:
            os.kill(child, signal.SIGKILL)
    end.listen()
    if role == 'serve-dropped':
        os.setresuid(65534, 65534, 65534)
    while True:
        threading.Thread(target=serve, args=(end.accept()[0],), daemon=True).start()
end.connect(name)
ask()
if role == 'pass':
    out, into = os.pipe()
    socket.send_fds(end, [b'x'], [into])
    if (end.recv(100), os.read(out, 100)) != (b'x', b'through'):
        sys.exit('another answer')
    ask()
print('done', flush=True)
sys.stdin.read()
