"""Looks at names while the server of names is stopped: only the emulation library can answer."""
import errno
import os
import signal
import stat

name, server = '/etc/passwd', os.getppid()
# In a directory of the layer's, by its name and by a descriptor.
os.mkdir('made'), open('made/file', 'w').close()
made = os.open('made', os.O_RDONLY)
os.mkdir('made/dir')
os.stat('made/file'), os.stat('file', dir_fd=made)
# Links of the layer's.
os.symlink('file', 'made/near'), os.symlink(os.path.abspath('both/old'), 'made/far'), os.symlink('dir', 'made/to_dir')
os.symlink('near', 'here'), os.rename('here', 'made/again')
os.stat(name), os.path.lexists('/etc/none')
# A directory of both, and one of the host's whose children were not looked at.
open('both/new', 'w').close()
os.stat('both/old'), os.stat('deep/first/file')
# A file of the host's, of which the layer then has a copy.
number = os.stat('copied').st_ino
copied = open('copied', 'a+')
copied.write('more'), copied.flush()
# A program of the host's, which makes no call but its exit.
seven = os.path.abspath('seven')


def run():
    return os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn(seven, ['seven'], {}), 0)[1])


run()
# Once this is answered, the server is through with what it did for the program.
os.chmod('made/file', 0o600)
os.kill(server, signal.SIGSTOP)
try:
    # As make does: to what it is already.
    os.setresuid(-1, os.geteuid(), -1), os.setresgid(-1, os.getegid(), -1)
    ran = run()
    file = os.open(name, os.O_RDONLY)
    found = os.stat(name).st_ino == os.fstat(file).st_ino, os.access(name, os.R_OK), os.path.lexists('/etc/none'), \
        os.stat('made/file') == os.stat('file', dir_fd=made), os.access('none', os.F_OK, dir_fd=made), \
        len(os.listdir('made')), os.listdir(os.open('dir', os.O_RDONLY, dir_fd=made)), os.path.lexists('made/dir/none'), \
        os.stat('made/dir') == os.stat('made/dir/.') == os.lstat('made/dir/')
    try:
        os.readlink('both')
    except OSError as error:
        both = error.errno == errno.EINVAL
    both = both and os.access('both', os.R_OK | os.X_OK), stat.S_ISDIR(os.stat('both').st_mode), os.open('both', os.O_RDONLY) > 0
    linked = os.stat('link') == os.stat('both/old'), open('link').read(), os.access('link', os.R_OK), os.path.islink('link')
    links = os.lstat('made/near').st_size, os.lstat('near', dir_fd=made).st_size, os.readlink('made/to_dir'), \
        os.readlink('again', dir_fd=made), os.stat('made/again') == os.stat('made/near') == os.stat('made/file'), \
        open('made/far').read(), os.access('made/far', os.R_OK), os.listdir('made/to_dir'), os.path.islink('made/none')
    copied = [(st.st_ino == number, st.st_size) for st in (os.stat('copied'), os.lstat('copied'), os.fstat(copied.fileno()))]
    child = open('deep/child/file').read(), os.path.lexists('deep/child/none'), os.path.lexists('deep/none/file')
finally:
    os.kill(server, signal.SIGCONT)
print(*found)
print(*both, *linked, *child, ran)
print(*links)
print(*copied)
