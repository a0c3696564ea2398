"""A server that sends back what comes, and its client. The first argument is which: "serve" or "ask"; the second is the socket's path, or an
abstract name behind an @. The client says "done" when a thousand answers were right, and keeps the connection until its input ends."""
import os
import socket
import sys
import threading

role, name = sys.argv[1:]
end = socket.socket(socket.AF_UNIX)
address = '\0' + name[1:] if name.startswith('@') else name


def serve(client):
    while data := client.recv(100):
        client.sendall(data)


if role == 'serve':
    end.bind(address)
    if not name.startswith('@'):
        os.chmod(name, 0o777)
    end.listen()
    while True:
        threading.Thread(target=serve, args=(end.accept()[0],), daemon=True).start()
end.connect(address)
for n in range(1000):
    end.sendall(b'%d' % n)
    if end.recv(100) != b'%d' % n:
        sys.exit('another answer')
print('done', flush=True)
sys.stdin.read()
