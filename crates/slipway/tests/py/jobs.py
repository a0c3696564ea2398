"""A terminal with a shell whose jobs run in the net: they are stopped, continued, interrupted and killed as without it."""
import os, pty, select, signal, sys

slipway = sys.argv[1]
pid, terminal = pty.fork()
if pid == 0:
    os.environ["PS1"] = "$ "
    os.environ["TERM"] = "dumb"
    os.execvp("bash", ["bash", "--norc", "--noediting", "-i"])

seen = b""


def until(text):
    """Reads what the terminal shows, to the end of the text: what came before it."""
    global seen
    while text not in seen:
        if not select.select([terminal], [], [], 60)[0]:
            sys.exit(f"{text} is not in {seen}")
        seen += os.read(terminal, 4096)
    before, seen = seen.split(text, 1)
    return before


def say(text):
    os.write(terminal, text)


until(b"$ ")
say(slipway.encode() + b" unix --discard -- cat\n")
until(b"cat\r\n")
say(b"hello\n")
until(b"hello\r\nhello\r\n")
# Ctrl-Z stops it; fg continues it; Ctrl-C ends it.
say(b"\x1a")
until(b"Stopped")
until(b"$ ")
say(b"fg\n")
until(b"cat\r\n")
say(b"again\n")
until(b"again\r\nagain\r\n")
say(b"\x03")
until(b"$ ")
say(b"echo code=$?\n")
until(b"code=130\r\n")
until(b"$ ")
# A shell in the net has jobs of its own.
say(slipway.encode() + b" unix --discard -- bash --norc --noediting -i\n")
until(b"-i\r\n")
until(b"$ ")
say(b"cat\n")
until(b"cat\r\n")
say(b"inner\n")
until(b"inner\r\ninner\r\n")
say(b"\x1a")
until(b"Stopped")
until(b"$ ")
say(b"kill %1; fg; exit 4\n")
until(b"exit 4\r\n")
until(b"$ ")
say(b"echo code=$?\n")
until(b"code=4\r\n")
until(b"$ ")
# One that is stopped can be killed.
say(slipway.encode() + b" unix --discard -- cat\n")
until(b"cat\r\n")
say(b"third\n")
until(b"third\r\nthird\r\n")
say(b"\x1a")
until(b"Stopped")
until(b"$ ")
# Not by the shell, which would continue it as well: it may be gone, and no job, before the shell comes to wait for it.
say(b"jobs -p %1\n")
until(b"%1\r\n")
job = int(until(b"\r\n"))
until(b"$ ")
os.killpg(job, signal.SIGTERM)
say(b"fg; echo code=$?\n")
until(b"code=143\r\n")
print("done")
