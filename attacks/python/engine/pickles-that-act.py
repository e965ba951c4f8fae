# attack: unpickles data that calls functions, opens files, nests deep and grows
# property: S16
# input: {"file": "{{canary_file}}"}
# timeout_ms: 3000
# expect: value []
import pickle
import pickletools

reached = []
file = input["file"].encode()
gadgets = [
    b"cos\nsystem\n(S'id'\ntR.",
    b"cposix\nsystem\n(S'id'\ntR.",
    b"csubprocess\ncheck_output\n(S'id'\ntR.",
    b"cbuiltins\nopen\n(S'" + file + b"'\ntR.",
    b"cio\nopen_code\n(S'" + file + b"'\ntR.",
    b"cctypes\nCDLL\n(NtR.",
    b"c_posixsubprocess\nfork_exec\n(tR.",
    b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R.",
]
for gadget in gadgets:
    try:
        reached.append(repr(pickle.loads(gadget))[:60])
    except BaseException:
        pass
for rubbish in [b"(" * 10_000, b"]" * 10_000 + b"a" * 9_999 + b".", b"\x8e" + b"\xff" * 8, b"\x95" + b"\xff" * 8, b"X\xff\xff\xff\x7f", b"0" * 100, b"\x94h\x05.", b"\x80\xff."]:
    for load in [pickle.loads, pickle._loads, pickletools.dis]:
        try:
            load(rubbish, *([open("/tmp/out", "w")] if load is pickletools.dis else []))
        except BaseException:
            pass
return reached
