# Lists made of views; a value of a thousand rows.
rows = tools.shapes.rows(count=1000)["rows"]
scores = {r["id"]: r["score"] for r in rows}
return {"keys": list(scores.keys())[-3:], "values": list(scores.values())[:3], "count": len(rows), "ids": [r["id"] for r in rows if r["score"] > 100]}
