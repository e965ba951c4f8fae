# attack: bytecode that jumps far outside of its code
# property: S34
# timeout_ms: 2000
# expect: contained
import opcode

extended = opcode.opmap["EXTENDED_ARG"]
for name in ["JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"]:
    code = bytes([opcode.opmap["RESUME"], 0, extended, 0x3F, extended, 0xFF, extended, 0xFF, opcode.opmap[name], 0xFF])
    exec((lambda: 0).__code__.replace(co_code=code + b"\0" * 64))
return "held"
