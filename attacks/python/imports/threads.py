# attack: starts threads, pools and other interpreters, and looks for one that runs beside it
# property: S29
# expect: value []
import _thread
import concurrent.futures
import threading

marks = []
beside = []


def work():
    for _ in range(200_000):
        marks.append("other")


def turns():
    return sum(a != b for a, b in zip(marks, marks[1:]))


def attempt(how, start):
    marks.clear()
    try:
        start()
    except BaseException:
        return
    for _ in range(200_000):
        marks.append("own")
    if turns() > 1:
        beside.append(how)


attempt("Thread", lambda: threading.Thread(target=work).start())
attempt("daemon", lambda: threading.Thread(target=work, daemon=True).start())
attempt("Timer", lambda: threading.Timer(0, work).start())
attempt("raw", lambda: _thread.start_new_thread(work, ()))
attempt("joinable", lambda: _thread.start_joinable_thread(work))
attempt("pool", lambda: concurrent.futures.ThreadPoolExecutor(2).submit(work))
try:
    import concurrent.interpreters

    concurrent.interpreters.create().call_in_thread(abs, -1)
    beside.append("interpreter in a thread")
except BaseException:
    pass
if _thread._count() > 1:
    beside.append(f"{_thread._count()} threads")
return beside
