# attack: opens a connection, a listener or a name by every module of the library that can
# property: S04
# input: {"file": "{{canary_file}}"}
# expect: value []
import importlib

reached = []


def attempt(how, f):
    try:
        got = f()
    except BaseException:
        return
    reached.append(f"{how}: {got!r:.60}")


def module(name):
    return importlib.import_module(name)


socket = lambda: module("socket")
here = "http://127.0.0.1:80/"
attempt("create_connection", lambda: socket().create_connection(("127.0.0.1", 80), 1))
attempt("udp", lambda: socket().socket(socket().AF_INET, socket().SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 53)))
attempt("listen", lambda: socket().create_server(("127.0.0.1", 0)))
attempt("unix", lambda: socket().socket(socket().AF_UNIX).connect("/var/run/docker.sock"))
attempt("abstract", lambda: socket().socket(socket().AF_UNIX).bind("\0limbeck"))
attempt("pair", lambda: socket().socketpair())
attempt("raw", lambda: module("_socket").socket())
attempt("from fd", lambda: [socket().socket(fileno=fd) for fd in range(3)])
attempt("names", lambda: socket().getaddrinfo("localhost", 80))
attempt("gethostbyname", lambda: socket().gethostbyname("localhost"))
attempt("urlopen", lambda: module("urllib.request").urlopen(here, timeout=1))
attempt("urlopen of a file", lambda: module("urllib.request").urlopen("file://" + input["file"]).read())
attempt("urlretrieve", lambda: module("urllib.request").urlretrieve("file://" + input["file"], "/tmp/got"))
attempt("http", lambda: module("http.client").HTTPConnection("127.0.0.1", 80, timeout=1).request("GET", "/"))
attempt("https", lambda: module("http.client").HTTPSConnection("127.0.0.1", 443, timeout=1).request("GET", "/"))
attempt("ftp", lambda: module("ftplib").FTP("127.0.0.1", timeout=1))
attempt("smtp", lambda: module("smtplib").SMTP("127.0.0.1", 25, timeout=1))
attempt("imap", lambda: module("imaplib").IMAP4("127.0.0.1", timeout=1))
attempt("pop", lambda: module("poplib").POP3("127.0.0.1", timeout=1))
attempt("xmlrpc", lambda: module("xmlrpc.client").ServerProxy(here).x())
attempt("httpd", lambda: module("http.server").HTTPServer(("127.0.0.1", 0), None))
attempt("syslog", lambda: module("logging.handlers").SysLogHandler())
attempt("SocketHandler", lambda: module("logging.handlers").SocketHandler("127.0.0.1", 1).createSocket() or 1 / 0)
attempt("manager", lambda: module("multiprocessing.managers").BaseManager(("127.0.0.1", 0)).start())
attempt("listener", lambda: module("multiprocessing.connection").Listener())
attempt("tls", lambda: module("ssl").get_server_certificate(("127.0.0.1", 443), timeout=1))
attempt("requests", lambda: module("requests").get(here))
attempt("httpx", lambda: module("httpx").get(here))
return reached
