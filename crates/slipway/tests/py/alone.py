"""Looks at names while the server of names is stopped: only the emulation library can answer."""
import os
import signal

name, server = '/etc/passwd', os.getppid()
# As make does: to what it is already.
os.setresuid(-1, os.geteuid(), -1)
os.stat(name), os.path.lexists('/etc/none')
os.kill(server, signal.SIGSTOP)
try:
    file = os.open(name, os.O_RDONLY)
    found = os.stat(name).st_ino == os.fstat(file).st_ino, os.access(name, os.R_OK), os.path.lexists('/etc/none')
finally:
    os.kill(server, signal.SIGCONT)
print(*found)
