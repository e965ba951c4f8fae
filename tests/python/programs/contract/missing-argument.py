# A required argument is missing.
# message: any
posted = tools.slack.post_message(channel="#general", text="sent before the mistake")
print(posted["ok"])
issue = tools.github.get_issue(owner="a", repo="b")
