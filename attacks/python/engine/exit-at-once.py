# attack: leaves the process without a word, in the middle of a call
# property: S38
# expect: error exception|worker_lost
import os

print("before")
os._exit(0)
