# attack: starts a process, or reaches one, by every function that could
# property: S05
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


command = ["/bin/sh", "-c", "id"]
attempt("run", lambda: module("subprocess").run(command, capture_output=True))
attempt("Popen", lambda: module("subprocess").Popen(command))
attempt("check_output", lambda: module("subprocess").check_output("id", shell=True))
attempt("getoutput", lambda: module("subprocess").getoutput("id"))
attempt("fork_exec", lambda: module("_posixsubprocess").fork_exec)
for name in ["os", "posix"]:
    attempt(f"{name}.system", lambda: module(name).system("id"))
    attempt(f"{name}.popen", lambda: module(name).popen("id").read())
    attempt(f"{name}.fork", lambda: module(name).fork())
    attempt(f"{name}.forkpty", lambda: module(name).forkpty())
    attempt(f"{name}.execv", lambda: module(name).execv(command[0], command))
    attempt(f"{name}.posix_spawn", lambda: module(name).posix_spawn(command[0], command, {}))
    attempt(f"{name}.spawnv", lambda: module(name).spawnv(0, command[0], command))
    attempt(f"{name}.kill parent", lambda: module(name).kill(module(name).getppid(), 0))
    attempt(f"{name}.kill all", lambda: module(name).kill(-1, 0))
    attempt(f"{name}.setuid", lambda: module(name).setuid(0))
    attempt(f"{name}.nice", lambda: module(name).nice(-1))
    attempt(f"{name}.pipe", lambda: module(name).pipe())
attempt("multiprocessing", lambda: module("multiprocessing").Process(target=print).start())
attempt("Pool", lambda: module("multiprocessing").Pool(1).map(abs, [1]))
own = module("os").getpid()
attempt("ProcessPoolExecutor", lambda: 1 / (module("concurrent.futures").ProcessPoolExecutor(1).submit(module("os").getpid).result() - own))
attempt("pty", lambda: module("pty").spawn(command))
attempt("webbrowser", lambda: module("webbrowser").get("true"))
attempt("shared memory", lambda: module("multiprocessing.shared_memory").SharedMemory(create=True, size=10))
attempt("pdb", lambda: module("pdb").Pdb().do_shell("id"))
return reached
