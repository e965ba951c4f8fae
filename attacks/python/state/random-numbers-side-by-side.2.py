# attack: draws random numbers beside the other, in the same order
# property: S13
# expect: value true
import os
import random
import time
import uuid

draws = [random.random(), os.urandom(8).hex(), str(uuid.uuid4())]
store.set("python side two", draws)
for _ in range(100):
    other = store.get("python side one")
    if other:
        break
    time.sleep(0.02)
return not set(draws) & set(other)
