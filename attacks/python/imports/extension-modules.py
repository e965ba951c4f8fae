# attack: writes native code into a file and loads it as an extension module, a library and a bytecode file
# property: S08
# expect: value []
import importlib.machinery
import importlib.util
import sys

reached = []
codes = {"elf": b"\x7fELF\x02\x01\x01" + b"\0" * 4096, "wasm": b"\0asm\x01\0\0\0" + b"\0" * 64, "empty": b""}
for kind, code in codes.items():
    for suffix in [*importlib.machinery.EXTENSION_SUFFIXES, ".so", ".cpython-314-wasm32-wasi.so", ".wasm", ".dylib"]:
        path = f"/tmp/native{suffix}"
        with open(path, "wb") as file:
            file.write(code)
        for how in ["loader", "path", "_imp"]:
            try:
                if how == "loader":
                    loader = importlib.machinery.ExtensionFileLoader("native", path)
                    spec = importlib.util.spec_from_file_location("native", path, loader=loader)
                    module = importlib.util.module_from_spec(spec)
                    loader.exec_module(module)
                elif how == "path":
                    sys.path.insert(0, "/tmp")
                    module = __import__("native")
                else:
                    import _imp

                    module = _imp.create_dynamic(importlib.util.spec_from_file_location("native", path))
                reached.append(f"{how} of {kind}{suffix}: {module!r}")
            except BaseException:
                sys.modules.pop("native", None)
return reached
