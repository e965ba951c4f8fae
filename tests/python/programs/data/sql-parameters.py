# Parameters, aggregates, an error in SQL, text and structured answers.
tables = tools.database.list_tables()
for name in tables["result"]:
    columns = tools.database.describe_table(table=name).splitlines()
    [[count]] = tools.database.query(sql=f"select count(*) from {name}")["rows"]
    print(f"{name}: {count} rows, {', '.join(c.split()[0] for c in columns)}")
answer = tools.database.query(sql="select kind, count(*) n, max(at) from events where id between ? and ? group by kind order by n desc, kind", params=[5, 30])
print(answer["columns"])
for row in answer["rows"]:
    print(*row, sep="\t")
for sql in ("select * form orders", "delete from orders"):
    try:
        tools.database.query(sql=sql)
    except ToolError as error:
        print(error.message)
