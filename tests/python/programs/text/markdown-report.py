# A Markdown report of several tools.
issues = tools.github.list_issues(owner="acme", repo="sample", per_page=4)["issues"]
deals = tools.crm.list_deals(stage="won")["deals"]
lines = ["# Weekly report", "", "## Issues", "", "| # | Title | Labels |", "|--:|-------|--------|"]
lines += [f"| {i['number']} | {i['title']} | {', '.join(f'`{l}`' for l in i['labels']) or '—'} |" for i in issues]
lines += ["", "## Deals won", ""]
lines += [f"- **{d['id']}**: {d['amount']:,.2f} € ({d['owner'].title()})" for d in deals]
report = "\n".join(lines)
saved = tools.filesystem.write_file(path="/data/report-markdown.md", content=report)
print(saved)
assert tools.filesystem.read_file(path="/data/report-markdown.md") == report
report
