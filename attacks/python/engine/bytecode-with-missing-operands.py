# attack: bytecode that reads constants, names, cells and locals that do not exist
# property: S34
# timeout_ms: 2000
# expect: contained
import opcode

for name in ["LOAD_CONST", "LOAD_FAST", "LOAD_NAME", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_ATTR", "STORE_FAST", "DELETE_FAST", "BUILD_LIST", "CALL"]:
    for high in [0x00, 0x10, 0x7F]:
        code = bytes([opcode.opmap["RESUME"], 0, opcode.opmap["EXTENDED_ARG"], high, opcode.opmap["EXTENDED_ARG"], 0xF0, opcode.opmap[name], 0xFF])
        try:
            exec((lambda: 0).__code__.replace(co_code=code + bytes([0, 0] * 20) + bytes([opcode.opmap["RETURN_VALUE"], 0])))
        except BaseException:
            pass
return "held"
