//! The system a program sees: clock, random bytes, files, no network, nothing of this machine.

use limbeck_domain::ErrorKind;

use super::value;
use crate::gateway::{INTERPRETER_ABORTED, Run};

#[test]
fn the_clock_stands_still_until_something_is_delivered() {
    let program = "import time\n\
                   a = time.time_ns()\n\
                   for i in range(100000): pass\n\
                   b = time.time_ns()\n\
                   tools.test.echo()\n\
                   [a // 10 ** 9, b - a, time.time_ns() - a]";
    assert_eq!(value(program), "[1700000000,0,1000000]");
}

#[test]
fn sleeping_is_a_timer_and_costs_no_time() {
    for sleep in [
        "import time\nt = time.time()\ntime.sleep(30)\ntime.time() - t",
        "import asyncio, time\nt = time.time()\nawait asyncio.sleep(30)\ntime.time() - t",
        "import select, time\nt = time.monotonic()\nselect.select([], [], [], 30)\ntime.monotonic() - t",
        "import threading, time\nt = time.time()\nthreading.Event().wait(30)\ntime.time() - t",
    ] {
        let outcome = Run::python(sleep).go();
        assert_eq!(outcome.value(), "30.0", "{sleep}");
        assert!(
            outcome.elapsed.as_secs() < 25,
            "{sleep}: {:?}",
            outcome.elapsed
        );
    }
}

#[test]
fn the_same_start_gives_the_same_run_and_another_seed_another() {
    let program = "import asyncio, os, random, secrets, tempfile, time, uuid\n\
                   ids = [random.random() for _ in range(20)]\n\
                   await asyncio.sleep(1.25)\n\
                   echoes = await asyncio.gather(*[tools.test.echo(id=i) for i in ids])\n\
                   [ids, time.time(), os.urandom(8).hex(), str(uuid.uuid4()), str(uuid.uuid1()), secrets.token_hex(8),\n\
                    tempfile.mkdtemp(), hash('text'), list({'a', 'b', 'c', 'd'}), id(object()), echoes]";
    let first = Run::python(program).go();
    let second = Run::python(program).go();
    assert_eq!(first.value(), second.value());
    assert_eq!(first.calls, second.calls);

    let mut other = Run::python(program);
    other.start.seed = [8; 32];
    assert_ne!(other.go().value(), first.value());
}

#[test]
fn files_are_kept_for_the_program_and_gone_after_it() {
    let program = "import os, pathlib, shutil\n\
                   p = pathlib.Path('/tmp/a/b')\n\
                   p.mkdir(parents=True)\n\
                   (p / 'x.txt').write_text('hello\\nworld\\n')\n\
                   with open('/tmp/a/b/x.txt', 'a') as f: f.write('!')\n\
                   with open('/tmp/a/b/x.txt', 'r+') as f:\n\
                   \x20   f.seek(6)\n\
                   \x20   f.write('W')\n\
                   \x20   f.truncate(9)\n\
                   lines = open('/tmp/a/b/x.txt').read().split('\\n')\n\
                   os.rename('/tmp/a/b/x.txt', '/workspace/y.txt')\n\
                   size = os.stat('y.txt').st_size\n\
                   shutil.copy('y.txt', 'z.txt')\n\
                   listed = sorted(os.listdir('.'))\n\
                   os.remove('y.txt')\n\
                   shutil.rmtree('/tmp/a')\n\
                   [lines, size, listed, os.listdir('/tmp'), os.path.exists('y.txt'), os.getcwd(), os.stat('z.txt').st_mtime]";
    let expected = r#"[["hello","Wor"],9,["y.txt","z.txt"],[],false,"/workspace",1700000000.0]"#;
    assert_eq!(value(program), expected);
    assert_eq!(
        value("import os\nos.listdir('/tmp') + os.listdir('/workspace')"),
        "[]"
    );
}

#[test]
fn archives_and_temporary_files_work_in_memory() {
    let program = "import io, tempfile, zipfile\n\
                   with zipfile.ZipFile('a.zip', 'w', zipfile.ZIP_DEFLATED) as z:\n\
                   \x20   z.writestr('n.txt', 'x' * 100000)\n\
                   with tempfile.TemporaryDirectory() as d:\n\
                   \x20   zipfile.ZipFile('a.zip').extractall(d)\n\
                   \x20   n = len(open(d + '/n.txt').read())\n\
                   with tempfile.TemporaryFile() as f:\n\
                   \x20   f.write(b'abc')\n\
                   \x20   f.seek(1)\n\
                   \x20   rest = f.read()\n\
                   [n, rest.decode()]";
    assert_eq!(value(program), r#"[100000,"bc"]"#);
}

#[test]
fn file_errors_are_those_of_any_system() {
    for (program, error) in [
        ("open('/etc/passwd')", "FileNotFoundError"),
        ("open('../../etc/passwd')", "FileNotFoundError"),
        ("open('/new.txt', 'w')", "OSError"),
        ("import os\nos.mkdir('/new')", "OSError"),
        ("import os\nos.rmdir('/tmp')", "OSError"),
        ("open('/tmp', 'w')", "IsADirectoryError"),
        ("open('/tmp')", "IsADirectoryError"),
        ("open('a', 'x')\nopen('a', 'x')", "FileExistsError"),
        (
            "import os\nos.mkdir('d')\nopen('d/f', 'w').close()\nos.rmdir('d')",
            "OSError",
        ),
        ("open('a', 'w').close()\nopen('a/b')", "NotADirectoryError"),
        ("import os\nos.listdir('a')", "FileNotFoundError"),
        ("import os\nos.symlink('/tmp', 'l')", "OSError"),
        ("open('x' * 300, 'w')", "OSError"),
        ("open('a', 'w').read()", "UnsupportedOperation"),
    ] {
        let outcome = Run::python(program).go();
        let fault = outcome.fault_of(ErrorKind::Exception);
        assert!(fault.message.starts_with(error), "{program}: {fault:?}");
    }
}

#[test]
fn files_have_bounds_and_a_program_goes_on_after_them() {
    let many = "n = 0\n\
                try:\n\
                \x20   while True:\n\
                \x20       open(f'f{n}', 'w').close()\n\
                \x20       n += 1\n\
                except OSError as e: r = e.errno\n\
                import errno, os\n\
                os.remove('f0')\n\
                open('again', 'w').close()\n\
                [n, r == errno.ENOSPC]";
    assert_eq!(value(many), "[4093,true]");
    let large = "import os\n\
                 n = 0\n\
                 f = open('f', 'wb', buffering=0)\n\
                 try:\n\
                 \x20   for i in range(100): n += f.write(bytes(1 << 20))\n\
                 except OSError: pass\n\
                 f.truncate(0)\n\
                 f.seek(0)\n\
                 f.write(b'fits')\n\
                 [n >> 20, os.path.getsize('f')]";
    assert_eq!(value(large), "[64,4]");
    let sparse = "f = open('f', 'wb')\n\
                  try: f.truncate(1 << 40)\n\
                  except OSError as e: r = type(e).__name__\n\
                  r";
    assert_eq!(value(sparse), r#""OSError""#);
    let held = "import errno\n\
                fs = []\n\
                try:\n\
                \x20   while True: fs.append(open('f', 'wb', buffering=0))\n\
                except OSError as e: r = e.errno in (errno.EMFILE, errno.EDQUOT, errno.ENOMEM)\n\
                n = len(fs)\n\
                fs.clear()\n\
                open('f', 'w').close()\n\
                [n > 1000, r]";
    assert_eq!(value(held), "[true,true]");
}

#[test]
fn file_contents_count_as_memory_of_the_program() {
    let program = "data = bytes(20 << 20)\n\
                   with open('f', 'wb') as f: f.write(data)\n\
                   open('f', 'rb').read(4)\n\
                   1";
    let run = |mib: usize| {
        let run = Run::python(program);
        run.limits(|limits| limits.memory_bytes = mib << 20).go()
    };
    assert_eq!(run(128).value(), "1");
    assert!(run(48).result().is_err());
}

#[test]
fn nothing_of_this_machine_is_seen() {
    assert_eq!(
        value("import os\ndict(os.environ)"),
        r#"{"HOME":"/workspace"}"#
    );
    assert_eq!(
        value("import os\nos.listdir('/')"),
        r#"["tmp","workspace"]"#
    );
    assert_eq!(value("import sys\nsys.stdin.read()"), r#""""#);
    assert_eq!(value("import sys\nsys.platform"), r#""wasi""#);
}

#[test]
fn there_is_no_network_no_process_and_no_thread_beside() {
    for program in [
        "import socket\nsocket.create_connection(('example.com', 80))",
        "import socket\nsocket.socket()",
        "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
        "import urllib.request\nurllib.request.urlopen('http://example.com/')",
        "import subprocess\nsubprocess.run(['ls'])",
        "import os\nos.system('ls')",
        "import os\nos.fork()",
        "import ctypes",
    ] {
        let outcome = Run::python(program).go();
        outcome.fault_of(ErrorKind::Exception);
    }
}

#[test]
fn ending_the_interpreter_ends_the_program_with_a_reason() {
    let outcome = Run::python("print('before')\nimport os\nos._exit(3)").go();
    let fault = outcome.fault_of(ErrorKind::Exception);
    assert_eq!(fault.message, "program ended the interpreter");
    assert_eq!(outcome.stdout, "before\n");
}

#[test]
fn a_program_that_makes_its_interpreter_abort_is_at_fault_itself() {
    let outcome = Run::python("print('before')\nimport os\nos.abort()").go();
    let fault = outcome.fault_of(ErrorKind::Exception);
    assert!(
        fault.message.starts_with(INTERPRETER_ABORTED),
        "{}",
        fault.message
    );
    assert!(fault.hint.as_ref().unwrap().contains("aborts again"));
    assert_eq!(
        (outcome.stdout.as_str(), outcome.stderr.as_str()),
        ("before\n", "")
    );
}
