"""Does as an interpreter does with ``-m MODULE`` and ``-c CODE``, in a process that another one forks for it.

A template of a script, run without ``site``; it imports only what is built into the interpreter, so that it starts in a
hundredth of a second. ``tests/support/preloaded.py`` says where orders go.
"""

import _signal  # type: ignore[import-not-found]  # what signal is made of, without its names
import _socket
import marshal
import posix
import select
import sys

SIGNALS = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGTERM, _signal.SIGUSR1, _signal.SIGUSR2)

process = 0
early: list[int] = []


def pass_on(number, _):
    if process:
        posix.kill(process, number)
    else:
        early.append(number)


arguments = sys.argv[1:]
while arguments[:1] in (["-P"], ["-u"]):
    del arguments[0]
if arguments[:1] not in (["-m"], ["-c"]):
    posix.execv("REAL_PYTHON", ["REAL_PYTHON", *sys.argv[1:]])

for each in SIGNALS:
    _signal.signal(each, pass_on)
numbers = []
for each in [int(name) for name in posix.listdir("/proc/self/fd")]:
    try:
        posix.fstat(each)
        numbers.append(each)
    except OSError:
        pass  # the folder that was listed
orders = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
try:
    orders.connect("ADDRESS_OF_ORDERS")
except OSError:  # nobody forks any more
    posix.execv("REAL_PYTHON", ["REAL_PYTHON", *sys.argv[1:]])
order = marshal.dumps(
    (
        [each.encode("utf-8", "surrogateescape") for each in arguments],
        posix.getcwd(),
        dict(posix.environ),
        numbers,
    )
)
rights = b"".join(each.to_bytes(4, sys.byteorder) for each in numbers)
orders.sendmsg([order], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
process = int(orders.recv(100))
for each in numbers:
    posix.close(each)  # who waits for their end waits for the other process
# A signal that comes just before a call waits until that returns. So wait for signals too.
signalled, signals = _socket.socketpair()
signals.setblocking(False)
_signal.set_wakeup_fd(signals.fileno())
for each in early:
    posix.kill(process, each)
waiting = select.poll()
waiting.register(orders, select.POLLIN)
waiting.register(signalled, select.POLLIN)
while all(each != orders.fileno() for each, _ in waiting.poll()):
    signalled.recv(100)
answer = orders.recv(100)
status = int(answer) if answer else 1
if status < 0:
    _signal.signal(-status, _signal.SIG_DFL) if -status != _signal.SIGKILL else None
    posix.kill(posix.getpid(), -status)
posix._exit(status)
