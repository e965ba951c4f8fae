# attack: waits for locks, events and queues of threads that do not exist
# property: S26
# timeout_ms: 1500
# expect: contained
import queue
import threading

lock = threading.Lock()
lock.acquire()
for wait in [lambda: lock.acquire(timeout=0.01), lambda: threading.Event().wait(0.01), lambda: queue.Queue().get(timeout=0.01), lambda: lock.acquire()]:
    try:
        wait()
    except BaseException:
        pass
