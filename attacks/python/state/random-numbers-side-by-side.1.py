# attack: draws random numbers while another program does, from a worker of the same parent
# property: S13
# order: together
# expect: value true
import os
import random
import time
import uuid

draws = [random.random(), os.urandom(8).hex(), str(uuid.uuid4())]
store.set("python side one", draws)
for _ in range(100):
    other = store.get("python side two")
    if other:
        break
    time.sleep(0.02)
return not set(draws) & set(other)
