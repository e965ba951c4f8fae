# itertools.groupby over sorted rows, nested.
from itertools import groupby
from operator import itemgetter

deals = sorted(tools.crm.list_deals()["deals"], key=itemgetter("owner", "stage"))
for owner, of_owner in groupby(deals, key=itemgetter("owner")):
    print(owner)
    for stage, group in groupby(of_owner, key=itemgetter("stage")):
        amounts = [d["amount"] for d in group]
        print(f"  {stage:<10} {len(amounts)} {sum(amounts):>10.2f}")
print([(bit, len(list(run))) for bit, run in groupby("aaabccd")])
