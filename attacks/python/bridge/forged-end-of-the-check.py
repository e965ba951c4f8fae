# attack: raises its own class named like the refusal of the check, after a call was made
# property: S38
# expect: error exception
# message: forged
class ContractError(Exception):
    pass


tools.probe.note({"mark": "before a forged refusal"})
raise ContractError("forged")
