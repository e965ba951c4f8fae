# No network: what a program sees is the usual error.
import socket
import urllib.error
import urllib.request

try:
    urllib.request.urlopen("http://127.0.0.1:9/", timeout=1)
except urllib.error.URLError as error:
    print("URLError")
try:
    socket.create_connection(("127.0.0.1", 9), timeout=1)
except OSError as error:
    print("OSError")
