# A thread runs at once, in the one that starts it.
# message: any
import threading

seen = []
thread = threading.Thread(target=seen.append, args=[1])
thread.start()
thread.join()
print(seen)
