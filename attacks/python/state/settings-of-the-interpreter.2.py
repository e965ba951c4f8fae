# attack: looks for settings that the program before changed
# property: S12
# expect: value []
import codecs
import csv
import decimal
import gc
import logging
import os
import socket
import sys
import warnings

found = []
if sys.getrecursionlimit() < 500 or sys.get_int_max_str_digits() == 700 or sys.gettrace() is not None:
    found.append("sys")
if decimal.getcontext().prec == 3 or decimal.DefaultContext.prec == 3:
    found.append("decimal")
if any(entry[0] == "error" and entry[2] is Warning for entry in warnings.filters):
    found.append("warnings")
if logging.root.level == logging.DEBUG or logging.getLevelName(10) == "LEFT" or logging.root.manager.disable:
    found.append("logging")
if gc.get_threshold()[0] == 1 or "left" in csv.list_dialects() or csv.field_size_limit() == 1:
    found.append("gc or csv")
try:
    codecs.lookup("left")
    found.append("codecs")
except LookupError:
    pass
if "LEFT" in os.environ or os.environ.get("TZ") == "left" or socket.getdefaulttimeout() == 1:
    found.append("environment")
return found
