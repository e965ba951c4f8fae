# attack: bytecode that pops what was never pushed
# property: S34
# timeout_ms: 2000
# expect: contained
import opcode

code = bytes([opcode.opmap["RESUME"], 0]) + bytes([opcode.opmap["POP_TOP"], 0]) * 5_000
exec((lambda: 0).__code__.replace(co_code=code + bytes([opcode.opmap["RETURN_VALUE"], 0]), co_stacksize=1))
return "held"
