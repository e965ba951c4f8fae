# attack: raises an error whose message would clear a terminal, end a line of a log and turn the direction of text
# property: S55
# expect: error exception
# message: forged
raise ValueError("\x1b[2J\x1b]0;forged\x07\r\n\u202egnidliub\u2028{\"level\":\"error\"}")
