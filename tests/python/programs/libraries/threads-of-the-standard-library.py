# Locks, queues, events and thread-local values, used by one thread.
import queue
import threading

lock, rlock, local = threading.Lock(), threading.RLock(), threading.local()
counter = 0
for page in tools.wiki.list_pages()["pages"]:
    with lock:
        counter += 1
with rlock, rlock:
    local.value = counter
jobs: queue.Queue[str] = queue.Queue()
for slug in ("home", "faq"):
    jobs.put(slug)
titles = []
while True:
    try:
        titles.append(tools.wiki.get_page(slug=jobs.get_nowait())["title"])
        jobs.task_done()
    except queue.Empty:
        break
jobs.join()
ordered = queue.PriorityQueue()
for item in (3, 1, 2):
    ordered.put(item)
event = threading.Event()
event.set()
print(counter, local.value, titles, ordered.get(), lock.locked(), event.wait(0.01), threading.current_thread() is threading.main_thread())
