# attack: raises an error whose message, name and notes hold halves of characters
# property: S25
# expect: error exception
# message: before
error = ValueError("before \udcff after")
error.add_note("\ud800")
raise error
