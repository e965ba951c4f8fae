# attack: changes every setting of the interpreter and its library that a process has one of
# property: S12
# expect: value "left"
import asyncio
import codecs
import copyreg
import csv
import decimal
import gc
import locale
import logging
import os
import socket
import sys
import time
import warnings

sys.setrecursionlimit(150)
sys.set_int_max_str_digits(700)
sys.setswitchinterval(1)
decimal.getcontext().prec = 3
decimal.DefaultContext.prec = 3
warnings.simplefilter("error")
logging.basicConfig(level=logging.DEBUG, force=True)
logging.disable(50)
logging.addLevelName(10, "LEFT")
gc.disable()
gc.set_threshold(1)
csv.register_dialect("left", delimiter="|")
csv.field_size_limit(1)
codecs.register(lambda name: codecs.lookup("utf-8") if name == "left" else None)
copyreg.pickle(int, lambda n: (int, (7,)))
os.environ["LEFT"] = os.environ["TZ"] = "left"
os.umask(0o777) if hasattr(os, "umask") else None
socket.setdefaulttimeout(1)
try:
    time.tzset()
except AttributeError:
    pass
locale.setlocale(locale.LC_ALL, "C")
sys.settrace(lambda *a: None)
return "left"
