# attack: opens connections, servers, pipes and processes by the event loop
# property: S04
# expect: value []
import asyncio

reached = []
loop = asyncio.get_running_loop()
tries = {
    "open_connection": lambda: asyncio.open_connection("127.0.0.1", 80),
    "start_server": lambda: asyncio.start_server(lambda *a: None, "127.0.0.1", 0),
    "unix": lambda: asyncio.open_unix_connection("/var/run/docker.sock"),
    "exec": lambda: asyncio.create_subprocess_exec("/bin/id"),
    "shell": lambda: asyncio.create_subprocess_shell("id"),
    "datagram": lambda: loop.create_datagram_endpoint(asyncio.DatagramProtocol, ("127.0.0.1", 0)),
    "names": lambda: loop.getaddrinfo("localhost", 80),
    "pipe": lambda: loop.connect_read_pipe(asyncio.Protocol, open(0)),
}
for how, start in tries.items():
    try:
        await asyncio.wait_for(start(), 1)
        reached.append(how)
    except BaseException:
        pass
for how in ["add_reader", "add_writer"]:
    try:
        getattr(loop, how)(0, print)
        reached.append(how)
    except BaseException:
        pass
return reached
