# Every call uses the answer of the one before.
repo = max(tools.github.list_repos(owner="acme").repos, key=lambda r: r.stars)
issues = tools.github.list_issues(owner="acme", repo=repo.name, per_page=3)
first = issues.issues[0]
full = tools.github.get_issue(owner="acme", repo=repo.name, number=first.number)
posted = tools.slack.post_message(channel="#engineering", text=f"{repo.name}#{full.number}: {full.title}")
return {"repo": repo.name, "issue": full.number, "author": full.user.login, "ts": posted.ts, "ok": posted.ok}
